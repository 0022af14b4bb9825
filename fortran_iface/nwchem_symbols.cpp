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
#include "cxx/calculation/option_table.hpp"
#include "cxx/cuda/runtime/choose_devices.hpp"
#include "cxx/nwchem/device_claim.hpp"
#include "cxx/nwchem/task_recorder.hpp"
#include "cxx/parallel/ranks.hpp"
#include "fortran_iface/nwchem_options.hpp"
#include "trifuse_config.hpp"

/// The symbols of NWChem's GPU objects (sd_t_total.o, memory.o, hybrid.o) that its TCE calls, releases 7.0 to 7.3. All
/// arguments are references, and integers have 8 bytes. Kernel calls are only recorded; `compute_en_` executes the
/// calls of a task together.

using Integer = std::int64_t;

extern "C" {
/// Functions of NWChem: its error exit, with a Fortran string, and the number of a rank on its node. They are null in
/// other programs.
__attribute__((weak)) void errquit_(const char* text, const Integer* number, const Integer* error, std::size_t length);
__attribute__((weak)) int util_my_smp_index(void);
}

namespace {

/// Returns the recorder of this process. It keeps its memory from task to task. It is never destroyed, because the CUDA
/// driver may shut down before this library.
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

/// Returns the recorder. It computes on cores until `device_init_` has chosen a GPU.
trifuse::TaskRecorder& recorder() {
  if (!recorder_place()) compute_on_cores();
  return *recorder_place();
}

/// Calls NWChem's errquit with a message, or aborts a program without errquit.
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

/// Returns the number of this rank on its node, from 0. The launcher's number comes first, because NWChem's own number
/// assumes that successive ranks are on the same node.
int rank_on_node() {
  if (const auto found = trifuse::rank_on_host_by_launcher()) return *found;
  return util_my_smp_index != nullptr ? util_my_smp_index() : 0;
}

/// Prints the line that names Trifuse and its version. `where`: the processor of this rank.
void announce(const std::string& rank, const std::string& where) {
  trifuse::print_output("Trifuse {}: {} computes (T) on {}\n", trifuse::version, trifuse::printable(rank), where);
  trifuse::flush_output();
}

std::string name_of_rank() {
  return fmt::format("rank {} of {}", rank_on_node(), trifuse::host_of_this_process());
}

/// Returns the number of the GPU of this rank and its description for messages. Throws UsageError if there is none.
std::pair<int, std::string> chosen_device(Integer gpus_per_node) {
  const std::vector<trifuse::DeviceInfo> usable = trifuse::choose_devices(trifuse::visible_devices(), {});
  const auto candidates = trifuse::devices_of_rank(usable, rank_on_node(), gpus_per_node);
  if (candidates.empty())
    throw trifuse::UsageError(fmt::format("Rank {} of its node must not use a GPU.", rank_on_node()));
  const char* shown = std::getenv("CUDA_VISIBLE_DEVICES");
  const auto unclaimed = std::find_if(candidates.begin(), candidates.end(), [&](const trifuse::DeviceInfo& each) {
    return trifuse::claim_device(trifuse::device_identity(each, shown));
  });
  const bool shared = unclaimed == candidates.end();
  const trifuse::DeviceInfo& device = shared ? candidates.front() : *unclaimed;
  const std::string name = fmt::format("GPU {} ({}, {})", trifuse::device_label(device, shown), device.name,
                                       trifuse::device_identity(device, shown));
  const std::string rank = name_of_rank();
  announce(rank, trifuse::printable(name) + (shared ? " -- WARNING: another process computes on it too" : ""));
  return {device.number, fmt::format("{} of {}", name, rank)};
}

/// Runs `body`. If it throws, reports the error to the host program and returns false.
template <typename Body>
bool guarded(Body body) {
  try {
    body();
    return true;
  } catch (...) {
    const std::string sentence =
        trifuse::in_words_of(trifuse::Door::nwchem_symbols, trifuse::sentence_of(std::current_exception()));
    if (recorder_place()) recorder_place()->clear();
    fail(sentence);
    return false;
  }
}

/// Records a kernel call of the term with this kind and number.
void record(trifuse::TermKind kind, int number, const trifuse::RecordedTask::CallExtents& extent, const double* t,
            const double* v) {
  guarded([&] {
    for (const trifuse::Term& term : trifuse::terms) {
      if (term.kind == kind && term.number == number) return recorder().add(term, extent, t, v);
    }
  });
}

/// Converts NWChem's order of extents, h1, h2, h3, p4, p5, p6, to the order of a task, a, b, c, i, j, k.
trifuse::RecordedTask::Extents task_extents(const Integer* h1, const Integer* h2, const Integer* h3, const Integer* p4,
                                            const Integer* p5, const Integer* p6) {
  return {*p4, *p5, *p6, *h1, *h2, *h3};
}

}

extern "C" {

/// Returns 1 if this rank uses a GPU, else 0. The first `*gpus` ranks of a node use one.
Integer check_device_(const Integer* gpus) {
  return rank_on_node() < *gpus ? 1 : 0;
}

/// Chooses and prepares the GPU of this rank. With TRIFUSE_NWCHEM_DEVICE=cpu in the environment, the rank computes on
/// cores. `*gpus`: number of ranks of a node that use a GPU. `*device` gets the number of the GPU. If the call fails
/// and the host program continues, it gets 30, NWChem's sign of failure. Returns 0.
Integer device_init_(const Integer* gpus, Integer* device) {
  *device = 30;
  guarded([&] {
    recorder_place().reset();
    int number = 0;
    // NWChem's input is not available here, only the environment.
    const auto options = trifuse::nwchem::read_options(trifuse::Door::nwchem_symbols, "");
    if (trifuse::nwchem::asks_for_cores(options)) {
      compute_on_cores();
      announce(name_of_rank(), "a core");
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

/// Does nothing, because memory does not belong to a task.
void initmemmodule_(void) {}
void finalizememmodule_(void) {}

/// The two functions begin the singles and the doubles of a task. Arguments: extents of its tiles.
void dev_mem_s_(const Integer* h1, const Integer* h2, const Integer* h3, const Integer* p4, const Integer* p5,
                const Integer* p6) {
  guarded([&] { recorder().begin_singles(task_extents(h1, h2, h3, p4, p5, p6)); });
}
void dev_mem_d_(const Integer* h1, const Integer* h2, const Integer* h3, const Integer* p4, const Integer* p5,
                const Integer* p6) {
  guarded([&] { recorder().begin_doubles(task_extents(h1, h2, h3, p4, p5, p6)); });
}
/// Discards the current task.
void dev_release_(void) {
  guarded([&] { recorder().clear(); });
}

// The 27 kernels record their operands; recorded_task.hpp has the layouts of t1, t2 and v2. The argument of the target
// block, before t1 or t2, is not used.
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

/// Computes the energies of the current task: energy[0] = E[T], energy[1] = E(T), hartree. `factor`: weight of the
/// task. `eps_*`: orbital energies of each tile, hartree. `h1` to `p6`: extents of the tiles. The last two arguments,
/// host arrays of NWChem, are not used. The energies are NaN if the call fails and the host program continues.
void compute_en_(const double* factor, double* energy, const double* eps_h1, const double* eps_h2, const double* eps_h3,
                 const double* eps_p4, const double* eps_p5, const double* eps_p6, const Integer* h1, const Integer* h2,
                 const Integer* h3, const Integer* p4, const Integer* p5, const Integer* p6, const double*,
                 const double*) {
  energy[0] = energy[1] = std::numeric_limits<double>::quiet_NaN();
  guarded([&] {
    trifuse::TaskRecorder& all = recorder();
    if (all.task().complete() && all.task().extent() != task_extents(h1, h2, h3, p4, p5, p6)) {
      throw trifuse::UsageError("Energies were requested for other tiles than those of the task.");
    }
    const auto found = all.execute(*factor, {eps_p4, eps_p5, eps_p6, eps_h1, eps_h2, eps_h3});
    energy[0] = found.e_bracket_t;
    energy[1] = found.e_paren_t;
    all.clear();
  });
}
}
