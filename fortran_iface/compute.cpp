#include "fortran_iface/compute.hpp"

#include "cxx/job/job.hpp"
#include "cxx/report/check_report.hpp"
#include "cxx/report/report.hpp"

namespace trifuse::c_interface {

namespace {

/// Returns these amplitudes as a side of a job.
JobSide side_of(Amplitudes* amplitudes) {
  if (amplitudes == nullptr) return {};
  JobSide side{amplitudes->source.get(), amplitudes->in_memory, {}, &amplitudes->check, amplitudes->number};
  if (amplitudes->filled != nullptr) {
    side.expect_complete = [filled = amplitudes->filled] { filled->check_complete(); };
  }
  return side;
}

/// Tells the caller what happens, and sets the results.
class Watch final : public JobWatch {
 public:
  Watch(CalculationSetup& setup, RunWatch& watch, bool tells)
      : setup_(setup), watch_(watch), log_(setup.log, setup.log_context), tells_(tells) {}

  const std::atomic<bool>* stop() const override { return watch_.stop(); }
  void planned(const PlannedJob& job) override {
    setup_.warnings = check_warnings(job.right_check, job.left_check);
    if (!tells_) return;
    if (log_.wanted()) log_.write(TRIFUSE_LOG_INFORMATION, describe_job(job) + describe_slow_blas());
    for (const std::string& warning : setup_.warnings) log_.write(TRIFUSE_LOG_WARNING, warning);
  }
  void progress(const RunProgress& now) override { watch_.update(now); }
  void warn(const std::string& sentence) override { log_.write(TRIFUSE_LOG_WARNING, sentence); }
  void finished(const FinishedJob& job) override {
    setup_.warnings.insert(setup_.warnings.end(), job.result.warnings.begin(), job.result.warnings.end());
    setup_.ccsd_energy = total_ccsd_energy(job.right.info(), job.right_check.ccsd_energy);
    setup_.report = report_text("run", json_report(job));
  }

 private:
  CalculationSetup& setup_;
  RunWatch& watch_;
  RunLog log_;
  const bool tells_;
};

}

void compute(CalculationSetup& setup, RunWatch& watch, Communicator* ranks) {
  JobOptions options;
  options.calculation = setup.options;
  options.door = Door::library;
  for (Amplitudes* side : {setup.right.get(), setup.left.get()}) {
    if (side != nullptr && setup.options.check) side->forget_outdated_check();
  }
  Watch told(setup, watch, ranks == nullptr || ranks->rank() == 0);
  setup.result = run_job(side_of(setup.right.get()), side_of(setup.left.get()), options, ranks, told);
}

}
