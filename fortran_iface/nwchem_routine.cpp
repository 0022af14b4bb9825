#include "fortran_iface/nwchem_routine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "cxx/calculation.hpp"
#include "cxx/choose_devices.hpp"
#include "cxx/parallel/caller_thread.hpp"
#include "cxx/parallel/ranks.hpp"
#include "fortran_iface/handles.hpp"
#include "fortran_iface/nwchem_options.hpp"
#include "tce_tiles/nwchem_caller.hpp"

namespace {

using namespace trifuse;
using nwchem::Device;
using nwchem::Options;

/// NWChem's processes. Its communication is done on its own thread.
class NwchemTeam final : public Team {
 public:
  NwchemTeam(const trifuse_nwchem_job& job, CallerThread& caller) : job_(job), caller_(caller) {}
  int rank() const override { return static_cast<int>(job_.rank); }
  int size() const override { return static_cast<int>(job_.ranks); }
  std::int64_t fetch_add(int counter, std::int64_t amount) override {
    return caller_.call([&] { return job_.fetch_add(job_.context, counter, amount); });
  }
  void sum(std::span<double> values) override {
    caller_.call([&] { job_.sum(job_.context, static_cast<std::int64_t>(values.size()), values.data()); });
  }

 private:
  const trifuse_nwchem_job& job_;
  CallerThread& caller_;
};

void check(const trifuse_nwchem_job* job, const double* bracket_energy, const double* paren_energy) {
  const auto pointers = {job == nullptr, bracket_energy == nullptr, paren_energy == nullptr};
  const auto null = [](bool is) { return is; };
  if (std::any_of(pointers.begin(), pointers.end(), null) || job->spin == nullptr || job->irrep == nullptr ||
      job->size == nullptr || job->orbital_energies == nullptr || job->read == nullptr || job->fetch_add == nullptr ||
      job->sum == nullptr || job->print == nullptr || (job->spatial_integrals != 0 && job->spatial_tile == nullptr)) {
    throw UsageError("The description of NWChem's calculation has a null pointer.");
  }
  if (job->ranks < 1 || job->rank < 0 || job->rank >= job->ranks || job->rank_on_node < 0) {
    throw UsageError(fmt::format("There is no rank {} of {}.", job->rank, job->ranks));
  }
}

std::unique_ptr<TileSource> make_source(const trifuse_nwchem_job& job, CallerThread& caller) {
  NwchemTiles tiles;
  tiles.noa = job.noa;
  tiles.nob = job.nob;
  tiles.nva = job.nva;
  tiles.nvb = job.nvb;
  // A count that cannot be is left to the check of the table.
  const std::int64_t all = std::max<std::int64_t>(0, job.noa + job.nob + job.nva + job.nvb);
  const auto list = [&](const std::int64_t* numbers) { return std::span(numbers, static_cast<std::size_t>(all)); };
  tiles.spin = list(job.spin);
  tiles.irrep = list(job.irrep);
  tiles.size = list(job.size);
  tiles.restricted = job.restricted != 0;
  if (job.spatial_integrals != 0) {
    tiles.storage = V2Storage::spatial;
    tiles.spatial_tile = list(job.spatial_tile);
  }
  const std::int64_t orbitals = nwchem_tile_space(tiles).orbitals();
  const auto read = [&job, &caller](NwchemTensor tensor, std::int64_t offset, std::span<double> values) {
    const std::int64_t vector = tensor == NwchemTensor::t1 ? job.t1 : tensor == NwchemTensor::t2 ? job.t2 : job.v2;
    const auto count = static_cast<std::int64_t>(values.size());
    const std::int64_t code = caller.call([&] { return job.read(job.context, vector, offset, count, values.data()); });
    if (code != 0) {
      throw InputError(fmt::format("NWChem could not deliver {} doubles from {} on of its array {}: code {}.", count,
                                   offset, vector, code));
    }
  };
  return make_nwchem_caller_source(tiles, {job.t1_doubles, job.t2_doubles, job.v2_doubles},
                                   {job.orbital_energies, static_cast<std::size_t>(orbitals)}, read);
}

/// This rank's GPU, if it is to use one.
std::optional<DeviceInfo> find_device(const trifuse_nwchem_job& job, const Options& options, const TileSpace& tiles) {
  if (options.device == Device::cpu || job.rank_on_node >= job.gpus_per_node) return std::nullopt;
  if (options.device == Device::automatic && choose_executor(tiles, options.form) != ExecutorKind::cuda) {
    return std::nullopt;
  }
  const std::vector<DeviceInfo> visible = visible_devices();
  // Says why there is none, where one was asked for.
  choose_devices(visible, {});
  return device_of_rank(visible, job.rank_on_node, job.gpus_per_node);
}

/// What all ranks together find out before they begin.
struct Setup {
  Options options;
  std::unique_ptr<TileSource> source;
  std::optional<DeviceInfo> device;
  std::optional<Calculation> calculation;
  std::vector<RankResources> ranks;
  std::vector<TeamShare> shares;
};

CalculationOptions calculation_options(const Setup& setup, const RankResources& mine, int sharers, bool any_gpu) {
  CalculationOptions chosen;
  chosen.form = setup.options.form;
  chosen.omega2 = setup.options.omega2;
  chosen.tile_size = setup.options.tile_size;
  chosen.threads = mine.threads_asked > 0 ? mine.threads_asked : mine.core_count;
  chosen.plan_for = any_gpu ? ExecutorKind::cuda : ExecutorKind::cpu;
  if (!setup.device) return chosen;
  chosen.executor = ExecutorKind::cuda;
  chosen.devices = {setup.device->number};
  chosen.memory = setup.options.memory;
  // Ranks that have the same GPU would else both take all that is free.
  if (!chosen.memory && sharers > 1) {
    constexpr double usable = 0.9;
    chosen.memory = static_cast<std::int64_t>(usable * static_cast<double>(setup.device->free_memory) / sharers);
  }
  return chosen;
}

Setup set_up(const trifuse_nwchem_job& job, const char* settings, Team& team, CallerThread& caller) {
  Setup setup;
  RankResources mine;
  together(&team, [&] {
    setup.options = nwchem::read_options(settings == nullptr ? "" : settings);
    setup.source = make_source(job, caller);
    mine = resources_of_this_process();
    setup.device = find_device(job, setup.options, setup.source->tiles());
    if (setup.device) {
      mine.gpu = setup.device->name;
      mine.gpu_identity = device_identity(*setup.device, std::getenv("CUDA_VISIBLE_DEVICES"));
      mine.gpu_rate = nominal_rate(*setup.device);
    }
  });
  setup.ranks = gather(team, mine);
  const bool any_gpu =
      std::any_of(setup.ranks.begin(), setup.ranks.end(), [](const RankResources& r) { return !r.gpu.empty(); });
  together(&team, [&] {
    const int sharers = sharers_of_gpu(setup.ranks, team.rank());
    setup.calculation.emplace(*setup.source, nullptr, calculation_options(setup, mine, sharers, any_gpu));
  });
  mine.operand_bytes = static_cast<double>(setup.calculation->operand_bytes());
  const std::vector<double> bytes = gather(team, std::span<const double>(&mine.operand_bytes, 1));
  for (std::size_t r = 0; r < bytes.size(); ++r) setup.ranks[r].operand_bytes = bytes[r];
  together(&team, [&] {
    setup.shares = share_out(setup.ranks, setup.calculation->plan().total_operations);
    setup.calculation->join(team, setup.shares[static_cast<std::size_t>(team.rank())]);
  });
  return setup;
}

std::string what_it_does(const RankResources& rank, const TeamShare& share, int sharers) {
  if (share.role == TeamShare::Role::waiter) return "waits";
  const std::string cores = fmt::format("{} core{}", share.threads, share.threads == 1 ? "" : "s");
  if (rank.gpu.empty()) return cores;
  return fmt::format("GPU {} ({}), {}{}", rank.gpu_identity, rank.gpu, cores,
                     sharers > 1 ? fmt::format(" -- WARNING: {} ranks share this GPU", sharers) : "");
}

class Report {
 public:
  Report(const trifuse_nwchem_job& job, CallerThread& caller) : job_(job), caller_(caller) {}

  void begin(const Setup& setup) const {
    const Calculation& calculation = *setup.calculation;
    print(fmt::format("Trifuse {}: {} tasks of {:.4g} operations, {} form, {}", trifuse_version(),
                      calculation.plan().tasks.size(), calculation.plan().total_operations,
                      to_string(calculation.problem().form), setup.source->info().format));
    print(fmt::format("{:>11}  {:<24}  {}", "rank", "host", "computes on"));
    const auto line = [&](std::size_t r) {
      return fmt::format(
          "{:<24}  {}", setup.ranks[r].host,
          what_it_does(setup.ranks[r], setup.shares[r], sharers_of_gpu(setup.ranks, static_cast<int>(r))));
    };
    // Neighbours that do the same stand in one line.
    for (std::size_t first = 0, end = 0; first < setup.ranks.size(); first = end) {
      const std::string text = line(first);
      for (end = first + 1; end < setup.ranks.size() && line(end) == text;) ++end;
      const std::string numbers = end == first + 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, end - 1);
      print(fmt::format("{:>11}  {}", numbers, text));
    }
  }

  void end(const CalculationResult& result) const {
    const double seconds = std::max(result.seconds_tasks, 1e-9);
    print(fmt::format("Operands read in {:.1f} s; {} tasks in {:.1f} s, {:.4g} operations, {:.4f} TF/s",
                      result.seconds_loading, result.tasks, result.seconds_tasks, result.operations,
                      result.operations / seconds / 1e12));
    for (const TriplesEnergy& energy : result.energies) {
      print(fmt::format("{}, omega2 = {:g}: E[T] = {:.15f}, E(T) = {:.15f}", energy.method, energy.omega2,
                        energy.total.bracket, energy.total.paren));
    }
  }

 private:
  void print(const std::string& line) const {
    if (job_.rank != 0) return;
    caller_.call([&] { job_.print(job_.context, static_cast<std::int64_t>(line.size()), line.data()); });
  }

  const trifuse_nwchem_job& job_;
  CallerThread& caller_;
};

}  // namespace

void trifuse_nwchem_triples(trifuse_status* status, const trifuse_nwchem_job* job, const char* settings,
                            double* bracket_energy, double* paren_energy) {
  c_interface::guarded(status, [&] {
    check(job, bracket_energy, paren_energy);
    CallerThread caller;
    caller.serve([&] {
      NwchemTeam team(*job, caller);
      const Report report(*job, caller);
      const Setup setup = set_up(*job, settings, team, caller);
      report.begin(setup);
      const CalculationResult result = setup.calculation->run();
      report.end(result);
      *bracket_energy = result.energies.front().total.bracket;
      *paren_energy = result.energies.front().total.paren;
    });
  });
}
