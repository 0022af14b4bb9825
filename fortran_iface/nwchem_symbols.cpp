#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/base/hosts.hpp"
#include "cxx/base/printable.hpp"
#include "cxx/base/terminal.hpp"
#include "cxx/cuda/runtime/choose_devices.hpp"
#include "cxx/nwchem/device_claim.hpp"
#include "cxx/nwchem/task_recorder.hpp"
#include "cxx/parallel/ranks.hpp"
#include "fortran_iface/nwchem_options.hpp"

/// The symbols that NWChem's TCE calls in its GPU objects (sd_t_total.o, memory.o, hybrid.o), releases 7.0 to 7.3: all
/// arguments by reference, integers of 8 bytes. Kernel calls are recorded; `compute_en_` executes them as one task.

using Integer = std::int64_t;

extern "C" {
/// NWChem's way out, with a Fortran string; and a rank's number on its node. Absent in programs that are not NWChem.
__attribute__((weak)) void errquit_(const char* text, const Integer* number, const Integer* error, std::size_t length);
__attribute__((weak)) int util_my_smp_index(void);
}

namespace {

/// Lives as long as the program, so that memory is not asked for again with each task. Never destroyed: the driver may
/// be gone before this library.
std::unique_ptr<trifuse::TaskRecorder>& recorder_place() {
  static auto& place = *new std::unique_ptr<trifuse::TaskRecorder>;
  return place;
}

void compute_with(std::unique_ptr<trifuse::RecordedExecutor> executor, const std::string& where) {
  recorder_place() =
      std::make_unique<trifuse::TaskRecorder>(std::move(executor), where, [](const std::string& warning) {
        trifuse::print_output("Trifuse: WARNING: {}\n", trifuse::printable(warning));
        trifuse::flush_output();
      });
}
void compute_on_cores() {
  compute_with(trifuse::make_recorded_cpu_executor(), "A core");
}

/// On cores until `device_init_` has chosen a GPU.
trifuse::TaskRecorder& recorder() {
  if (!recorder_place()) compute_on_cores();
  return *recorder_place();
}

void fail(const std::string& sentence) {
  const std::string text = "Trifuse: " + trifuse::printable(sentence);
  if (errquit_ != nullptr) {
    const Integer number = 0, error = -1;
    errquit_(text.c_str(), &number, &error, text.size());
    return;
  }
  trifuse::write_error(text + "\n");
  std::abort();
}

/// NWChem's own number supposes that neighbours in rank are neighbours on a node.
int rank_on_node() {
  if (const auto found = trifuse::rank_on_host_by_launcher()) return *found;
  return util_my_smp_index != nullptr ? util_my_smp_index() : 0;
}

/// The GPU of this rank, and how users know it. It was asked for, so there must be one.
std::pair<int, std::string> chosen_device(Integer gpus_per_node) {
  const std::vector<trifuse::DeviceInfo> usable = trifuse::choose_devices(trifuse::visible_devices(), {});
  const auto candidates = trifuse::devices_of_rank(usable, rank_on_node(), gpus_per_node);
  if (candidates.empty())
    throw trifuse::UsageError(fmt::format("Rank {} of its node is to use no GPU.", rank_on_node()));
  const char* shown = std::getenv("CUDA_VISIBLE_DEVICES");
  const auto unclaimed = std::find_if(candidates.begin(), candidates.end(), [&](const trifuse::DeviceInfo& each) {
    return trifuse::claim_device(trifuse::device_identity(each, shown));
  });
  const bool shared = unclaimed == candidates.end();
  const trifuse::DeviceInfo& device = shared ? candidates.front() : *unclaimed;
  const std::string name = fmt::format("GPU {} ({}, {})", trifuse::device_label(device, shown), device.name,
                                       trifuse::device_identity(device, shown));
  const std::string rank = fmt::format("rank {} of {}", rank_on_node(), trifuse::host_of_this_process());
  trifuse::print_output("Trifuse: {} computes on {}{}\n", trifuse::printable(rank), trifuse::printable(name),
                        shared ? " -- WARNING: another process computes there as well" : "");
  trifuse::flush_output();
  return {device.number, fmt::format("{} of {}", name, rank)};
}

/// Runs `body`; what it throws goes to the host program. False then.
template <typename Body>
bool guarded(Body body) {
  try {
    body();
    return true;
  } catch (...) {
    const std::string sentence = trifuse::sentence_of(std::current_exception());
    if (recorder_place()) recorder_place()->clear();
    fail(sentence);
    return false;
  }
}

void record(trifuse::TermKind kind, int number, const trifuse::RecordedTask::CallExtents& extent, const double* t,
            const double* v) {
  guarded([&] {
    for (const trifuse::Term& term : trifuse::terms) {
      if (term.kind == kind && term.number == number) return recorder().add(term, extent, t, v);
    }
  });
}

/// NWChem's order of ranges is h1, h2, h3, p4, p5, p6.
trifuse::RecordedTask::Extents task_extents(const Integer* h1, const Integer* h2, const Integer* h3, const Integer* p4,
                                            const Integer* p5, const Integer* p6) {
  return {*p4, *p5, *p6, *h1, *h2, *h3};
}

}  // namespace

extern "C" {

/// 1 where this rank shall use a device: the first `*gpus` ranks of a node.
Integer check_device_(const Integer* gpus) {
  return rank_on_node() < *gpus ? 1 : 0;
}

/// Chooses the GPU of this rank, or cores if the environment says TRIFUSE_NWCHEM_DEVICE=cpu, and gets it ready. Where
/// it fails and the host program goes on, `*device` is NWChem's sign of failure.
Integer device_init_(const Integer* gpus, Integer* device) {
  *device = 30;
  guarded([&] {
    recorder_place().reset();
    int number = 0;
    // The symbols do not see the input.
    const trifuse::nwchem::Options options = trifuse::nwchem::read_options("");
    if (options.device == trifuse::nwchem::Device::cpu) {
      compute_on_cores();
    } else {
      std::string where;
      std::tie(number, where) = chosen_device(*gpus);
      try {
        compute_with(trifuse::make_recorded_cuda_executor(number, options.memory), where);
      } catch (const trifuse::DeviceError& error) {
        throw trifuse::DeviceError(fmt::format("{} cannot be used: {}", where, error.what()));
      }
    }
    *device = number;
  });
  return 0;
}

/// Memory is not bound to a task.
void initmemmodule_(void) {}
void finalizememmodule_(void) {}

void dev_mem_s_(const Integer* h1, const Integer* h2, const Integer* h3, const Integer* p4, const Integer* p5,
                const Integer* p6) {
  guarded([&] { recorder().begin_singles(task_extents(h1, h2, h3, p4, p5, p6)); });
}
void dev_mem_d_(const Integer* h1, const Integer* h2, const Integer* h3, const Integer* p4, const Integer* p5,
                const Integer* p6) {
  guarded([&] { recorder().begin_doubles(task_extents(h1, h2, h3, p4, p5, p6)); });
}
void dev_release_(void) {
  guarded([&] { recorder().clear(); });
}

// NOLINTBEGIN(cppcoreguidelines-macro-usage): 27 symbols of three shapes
#define TRIFUSE_KERNELS(n)                                                                                      \
  void sd_t_s1_##n##_cuda_(const Integer* h1, const Integer* h2, const Integer* h3, const Integer* p4,          \
                           const Integer* p5, const Integer* p6, double*, const double* t1, const double* v2) { \
    record(trifuse::TermKind::singles, n, {*h1, *h2, *h3, *p4, *p5, *p6}, t1, v2);                              \
  }                                                                                                             \
  void sd_t_d1_##n##_cuda_(const Integer* h1, const Integer* h2, const Integer* h3, const Integer* h7,          \
                           const Integer* p4, const Integer* p5, const Integer* p6, double*, const double* t2,  \
                           const double* v2) {                                                                  \
    record(trifuse::TermKind::hole_doubles, n, {*h1, *h2, *h3, *p4, *p5, *p6, *h7}, t2, v2);                    \
  }                                                                                                             \
  void sd_t_d2_##n##_cuda_(const Integer* h1, const Integer* h2, const Integer* h3, const Integer* p4,          \
                           const Integer* p5, const Integer* p6, const Integer* p7, double*, const double* t2,  \
                           const double* v2) {                                                                  \
    record(trifuse::TermKind::particle_doubles, n, {*h1, *h2, *h3, *p4, *p5, *p6, *p7}, t2, v2);                \
  }
TRIFUSE_KERNELS(1)
TRIFUSE_KERNELS(2)
TRIFUSE_KERNELS(3)
TRIFUSE_KERNELS(4)
TRIFUSE_KERNELS(5)
TRIFUSE_KERNELS(6)
TRIFUSE_KERNELS(7)
TRIFUSE_KERNELS(8)
TRIFUSE_KERNELS(9)
#undef TRIFUSE_KERNELS
// NOLINTEND

/// energy[0] = E[T], energy[1] = E(T) of the task. Orbital energies are those of h1, h2, h3, p4, p5, p6. NWChem passes
/// two host arrays, and two more arguments after them, which nobody uses. Where it fails and the host program goes on,
/// the energies are not numbers.
void compute_en_(const double* factor, double* energy, const double* eps_h1, const double* eps_h2, const double* eps_h3,
                 const double* eps_p4, const double* eps_p5, const double* eps_p6, const Integer* h1, const Integer* h2,
                 const Integer* h3, const Integer* p4, const Integer* p5, const Integer* p6, const double*,
                 const double*) {
  energy[0] = energy[1] = std::numeric_limits<double>::quiet_NaN();
  guarded([&] {
    trifuse::TaskRecorder& all = recorder();
    if (all.task().complete() && all.task().extent() != task_extents(h1, h2, h3, p4, p5, p6)) {
      throw trifuse::UsageError("Energies were asked for with tiles that are not those of the task.");
    }
    const auto found = all.execute(*factor, {eps_p4, eps_p5, eps_p6, eps_h1, eps_h2, eps_h3});
    energy[0] = found.e_bracket_t;
    energy[1] = found.e_paren_t;
    all.clear();
  });
}
}
