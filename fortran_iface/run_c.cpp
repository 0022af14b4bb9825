#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "cxx/calculation/derivative_arrays.hpp"
#include "cxx/calculation/environment_settings.hpp"
#include "fortran_iface/compute.hpp"
#include "fortran_iface/handles.hpp"
#include "fortran_iface/run_watch.hpp"

using namespace trifuse::c_interface;

namespace {

/// Returns the energies of one omega2. Throws UsageError if there are none with this number.
const trifuse::TriplesEnergy& energy_of(const CalculationSetup& setup, std::int64_t index) {
  const auto& energies = setup.result.energies;
  if (index < 0 || index >= std::ssize(energies)) {
    if (energies.empty()) throw trifuse::UsageError("There are no energies; run the calculation first.");
    throw trifuse::UsageError(fmt::format(
        "The last run has {} energies, and none with this number; trifuse_energy_count counts them.", energies.size()));
  }
  return energies[static_cast<std::size_t>(index)];
}

void put(const trifuse::Energies& energies, double* bracket_energy, double* paren_energy) {
  if (bracket_energy != nullptr) *bracket_energy = energies.e_bracket_t;
  if (paren_energy != nullptr) *paren_energy = energies.e_paren_t;
}

/// Returns the derivatives of the last run. Throws UsageError if there are none.
const trifuse::DerivativeArrays& derivatives_of(const CalculationSetup& setup) {
  if (setup.result.derivatives == nullptr)
    throw trifuse::UsageError(
        "There are no derivatives; set the option derivatives to t or all and run. A run that failed has none.");
  return *setup.result.derivatives;
}

/// Returns the array of a caller for derivatives. Throws UsageError if it cannot be one.
std::span<double> values_of_derivative(const char* name, std::int64_t count, double* values) {
  if (name == nullptr) throw trifuse::UsageError("The name of the derivatives is null.");
  if (count < 0) throw trifuse::UsageError("The array for derivatives has a negative number of elements.");
  if (values == nullptr && count > 0) throw trifuse::UsageError("The array for derivatives is null.");
  return {values, static_cast<std::size_t>(count)};
}

/// Throws UsageError if a box reader of the amplitudes of this calculation calls trifuse_run.
void expect_no_reader(const CalculationSetup& setup) {
  for (const Amplitudes* side : {setup.right.get(), setup.left.get()})
    if (side != nullptr) BoxReaderMark::refuse(*side, "trifuse_run");
}

/// Throws UsageError on all ranks if a rank has no valid handle of a calculation, or cannot run it. Collective.
/// `setup`: null if this rank has no valid handle.
void expect_calculations(trifuse::Communicator& ranks, const CalculationSetup* setup) {
  trifuse::run_collectively(&ranks, [&] {
    if (setup != nullptr) return expect_no_reader(*setup);
    throw trifuse::UsageError(fmt::format(
        "Rank {} of the communicator has no valid handle of a calculation; the status of its earlier calls says why.",
        ranks.rank()));
  });
}

/// Returns the object of a handle. Throws BadHandle if there is none; then the ranks of this thread's communicator
/// fail, too.
std::shared_ptr<CalculationSetup> checked_on_all_ranks(trifuse_calculation calculation) {
  try {
    return object_of(calculation);
  } catch (const BadHandle&) {
    if (const trifuse::RankServer serve = std::exchange(ranks_without_calculation(), nullptr)) {
      try {
        serve([](trifuse::Communicator& ranks) { expect_calculations(ranks, nullptr); });
      } catch (const trifuse::Error&) {  // ignored: the sentence about the handle helps this rank more
      }
    }
    throw;
  }
}

/// Marks a calculation as running as long as the mark exists. Throws UsageError if it is running already, or if another
/// thread uses it.
class RunningMark {
 public:
  explicit RunningMark(CalculationSetup& setup) : setup_(setup) {
    if (setup.use.begin_run()) return;
    if (setup.use.is_running()) refuse_running();
    throw trifuse::UsageError(
        "Another thread uses this calculation, for example copies its derivatives; wait until that has ended, and run "
        "it then.");
  }
  ~RunningMark() { setup_.use.end_run(); }
  RunningMark(const RunningMark&) = delete;
  RunningMark& operator=(const RunningMark&) = delete;

 private:
  CalculationSetup& setup_;
};

}

void trifuse_run(trifuse_status* status, trifuse_calculation calculation) {
  guarded(status, [&] {
    const auto setup = checked_on_all_ranks(calculation);
    const RunningMark mark(*setup);
    trifuse::refuse_settings_of_other_doors(trifuse::Door::library);
    setup->forget_results();
    setup->warnings.clear();
    RunWatch watch(setup->progress, setup->progress_context);
    try {
      if (setup->serve_ranks) {
        setup->serve_ranks([&](trifuse::Communicator& ranks) {
          expect_calculations(ranks, setup.get());
          compute(*setup, watch, &ranks);
        });
      } else {
        expect_no_reader(*setup);
        compute(*setup, watch, nullptr);
      }
      watch.finish();
    } catch (...) {
      setup->forget_results();
      watch.rethrow_failure();
      try {
        throw;
      } catch (const trifuse::Interrupted&) {
        throw trifuse::Interrupted(watch.sentence(setup->options.journal));
      }
    }
  });
}

int64_t trifuse_warning_count(trifuse_status* status, trifuse_calculation calculation) {
  return guarded(status, int64_t{0}, [&] { return static_cast<int64_t>(checked(calculation)->warnings.size()); });
}

void trifuse_get_warning(trifuse_status* status, trifuse_calculation calculation, int64_t index, char* warning) {
  guarded(status, [&] {
    const auto setup = checked(calculation);
    const std::vector<std::string>& all = setup->warnings;
    if (index < 0 || index >= std::ssize(all)) throw trifuse::UsageError("There is no warning with this number.");
    if (warning != nullptr) copy_text(all[static_cast<std::size_t>(index)], warning, TRIFUSE_MESSAGE_LENGTH);
  });
}

int64_t trifuse_energy_count(trifuse_status* status, trifuse_calculation calculation) {
  return guarded(status, int64_t{0},
                 [&] { return static_cast<int64_t>(checked(calculation)->result.energies.size()); });
}

void trifuse_get_energy(trifuse_status* status, trifuse_calculation calculation, int64_t index, double* omega2,
                        double* bracket_energy, double* paren_energy) {
  guarded(status, [&] {
    const auto setup = checked(calculation);
    const trifuse::TriplesEnergy& energy = energy_of(*setup, index);
    if (omega2 != nullptr) *omega2 = energy.omega2;
    put(energy.total, bracket_energy, paren_energy);
  });
}

void trifuse_get_spin_case(trifuse_status* status, trifuse_calculation calculation, int64_t index, int32_t spin_case,
                           double* bracket_energy, double* paren_energy) {
  static_assert(static_cast<int>(trifuse::SpinCase::aaa) == TRIFUSE_AAA &&
                static_cast<int>(trifuse::SpinCase::bbb) == TRIFUSE_BBB);
  guarded(status, [&] {
    const auto setup = checked(calculation);
    const trifuse::TriplesEnergy& energy = energy_of(*setup, index);
    if (spin_case < TRIFUSE_AAA || spin_case > TRIFUSE_BBB) {
      throw trifuse::UsageError("The spin case must be one of the values of trifuse_spin_case.");
    }
    put(energy.spin_cases[static_cast<std::size_t>(spin_case)], bracket_energy, paren_energy);
  });
}

void trifuse_get_error_bar(trifuse_status* status, trifuse_calculation calculation, int64_t index, double* bracket_bar,
                           double* paren_bar) {
  guarded(status, [&] {
    const auto setup = checked(calculation);
    put(energy_of(*setup, index).error_bar, bracket_bar, paren_bar);
  });
}

void trifuse_get_uncorrected_energy(trifuse_status* status, trifuse_calculation calculation, int64_t index,
                                    double* bracket_energy, double* paren_energy) {
  guarded(status, [&] {
    const auto setup = checked(calculation);
    put(energy_of(*setup, index).uncorrected, bracket_energy, paren_energy);
  });
}

double trifuse_get_total_energy(trifuse_status* status, trifuse_calculation calculation, int64_t index) {
  return guarded(status, 0.0, [&] {
    const auto setup = checked(calculation);
    const trifuse::TriplesEnergy& energy = energy_of(*setup, index);
    return setup->ccsd_energy ? *setup->ccsd_energy + energy.total.e_paren_t : std::numeric_limits<double>::quiet_NaN();
  });
}

void trifuse_get_method(trifuse_status* status, trifuse_calculation calculation, int64_t index, char* method) {
  guarded(status, [&] {
    const auto setup = checked(calculation);
    const trifuse::TriplesEnergy& energy = energy_of(*setup, index);
    if (method != nullptr) copy_text(energy.method, method, TRIFUSE_MESSAGE_LENGTH);
  });
}

int64_t trifuse_derivative_count(trifuse_status* status, trifuse_calculation calculation) {
  return guarded(status, int64_t{0}, [&] {
    const auto setup = checked(calculation);
    const auto& derivatives = setup->result.derivatives;
    return derivatives == nullptr ? int64_t{0} : static_cast<int64_t>(derivatives->list().size());
  });
}

void trifuse_get_derivative(trifuse_status* status, trifuse_calculation calculation, int64_t index, char* name,
                            int64_t* rank, int64_t* shape) {
  guarded(status, [&] {
    const auto setup = checked(calculation);
    const auto arrays = derivatives_of(*setup).list();
    if (index < 0 || index >= std::ssize(arrays)) {
      throw trifuse::UsageError(fmt::format(
          "The last run has {} arrays of derivatives, and none with this number; trifuse_derivative_count counts them.",
          arrays.size()));
    }
    const trifuse::DerivativeArrays::Array& found = arrays[static_cast<std::size_t>(index)];
    if (name != nullptr) copy_text(found.name, name, TRIFUSE_NAME_LENGTH);
    if (rank != nullptr) *rank = std::ssize(found.shape);
    constexpr std::ptrdiff_t most_axes = 4;
    if (shape != nullptr) std::fill(std::copy(found.shape.begin(), found.shape.end(), shape), shape + most_axes, 0);
  });
}

void trifuse_copy_derivative(trifuse_status* status, trifuse_calculation calculation, const char* name, int64_t count,
                             double* values) {
  guarded(status, [&] {
    const auto setup = checked(calculation);
    const trifuse::DerivativeArrays& derivatives = derivatives_of(*setup);
    const std::span<double> target = values_of_derivative(name, count, values);
    derivatives.copy(name, 0, derivatives.find(name).slices(), target);
  });
}

void trifuse_copy_derivative_slices(trifuse_status* status, trifuse_calculation calculation, const char* name,
                                    int64_t first, int64_t slices, int64_t count, double* values) {
  guarded(status, [&] {
    const auto setup = checked(calculation);
    const trifuse::DerivativeArrays& derivatives = derivatives_of(*setup);
    const std::span<double> target = values_of_derivative(name, count, values);
    derivatives.copy(name, first, slices, target);
  });
}

int64_t trifuse_get_report(trifuse_status* status, trifuse_calculation calculation, int64_t size, char* report) {
  return guarded(status, int64_t{0}, [&] {
    const auto setup = checked(calculation);
    const std::string& text = setup->report;
    if (text.empty()) throw trifuse::UsageError("There is no report; run the calculation first.");
    if (size < 0 || (size > 0 && report == nullptr)) {
      throw trifuse::UsageError(fmt::format("The report cannot be copied to {} bytes{}.", size,
                                            report == nullptr ? " at a null pointer" : ""));
    }
    if (size > 0) {
      const std::size_t length = std::min(text.size(), static_cast<std::size_t>(size) - 1);
      std::memcpy(report, text.data(), length);
      report[length] = '\0';
    }
    return std::ssize(text) + 1;
  });
}
