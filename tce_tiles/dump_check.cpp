#include "tce_tiles/dump_check.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "tce_tiles/consistency.hpp"
#include "tce_tiles/dump_boxes.hpp"
#include "tce_tiles/dump_energy.hpp"

namespace trifuse {
namespace {

constexpr double fock_tolerance = 1e-7;

/// Energies begin with one of the singles of each spin.
constexpr std::size_t singles_energies = 2;

std::size_t number_of(Spin spin) {
  return spin == Spin::alpha ? 0 : 1;
}

OrbitalClass class_of(Space space, Spin spin) {
  if (space == Space::hole) return spin == Spin::alpha ? OrbitalClass::hole_alpha : OrbitalClass::hole_beta;
  return spin == Spin::alpha ? OrbitalClass::particle_alpha : OrbitalClass::particle_beta;
}

/// The integrals of the pairs of a t2, and where their energies are kept.
struct EnergyOfPairs {
  CheckedArray ovov;
  PairWeights weights;
  std::span<const double> t1_first, t1_second;
  std::size_t begin;  ///< energies are [i, j] from there on
  std::int64_t j_count;
};

class Checker {
 public:
  Checker(const DumpFile& dump, const DumpCheck& check)
      : dump_(dump), other_(check.energy_with == &dump ? nullptr : check.energy_with), check_(check) {
    plan();
  }

  std::vector<double> run();

 private:
  /// What a thread reads into.
  using Room = std::array<Buffer, 4>;
  using Piece = std::function<void(Room&)>;

  const std::vector<int>& irreps(OrbitalClass c) const { return header_.irreps[static_cast<std::size_t>(c)]; }
  const Hdf5File& integrals_file() const { return other_ != nullptr ? other_->file : file_; }

  void plan();
  void add_boxes(const ArraySpec& spec);
  void add_pairs(const ArraySpec& t2, const ArraySpec& ovov);
  void add_energies(const EnergyOfPairs& pairs, const Box& t2, const Box& v2);
  void add_singles(Spin spin);
  void check_t1(const ArraySpec& spec) const;
  void check_fock(Spin spin) const;
  std::vector<double> read_fock(const Hdf5File& file, Spin spin) const;

  const DumpFile& dump_;
  const DumpFile* other_;
  const Hdf5File& file_ = dump_.file;
  const DumpHeader& header_ = dump_.header;
  DumpCheck check_;
  std::deque<CheckedArray> arrays_;
  std::deque<EnergyOfPairs> pairs_;
  std::array<std::vector<double>, 2> t1_;
  std::vector<double> energies_;
  std::vector<Piece> pieces_;
};

void Checker::plan() {
  const auto own = check_.integrals ? present_integrals(file_, header_) : std::nullopt;
  std::optional<std::vector<ArraySpec>> of_energy;
  if (check_.energy_with != nullptr && header_.info.amplitudes != AmplitudeKind::lambda) {
    const Hdf5File& file = integrals_file();
    const bool rohf = check_.energy_with->header.info.reference == Reference::rohf;
    // Without a Fock matrix the energy is still complete if Brillouin's theorem holds.
    if (!rohf || open_fock(file, header_, Spin::alpha)) of_energy = present_integrals(file, header_);
  }
  const auto ovov_of = [&](const ArraySpec& t2) -> const ArraySpec* {
    if (!of_energy) return nullptr;
    const auto found = std::find_if(of_energy->begin(), of_energy->end(), [&](const ArraySpec& spec) {
      return spec.kind == ArrayKind::ovov && spec.first == t2.first && spec.second == t2.second;
    });
    return found == of_energy->end() ? nullptr : &*found;
  };
  if (of_energy) energies_.assign(singles_energies, 0.0);
  for (const ArraySpec& spec : amplitude_arrays(header_.restricted)) {
    if (header_.size(spec) == 0 || spec.kind != ArrayKind::t1) continue;
    const Hdf5Dataset dataset = open_array(file_, header_, spec);
    std::vector<double>& values = t1_[number_of(spec.first)];
    values.resize(static_cast<std::size_t>(dataset.size()));
    dataset.read_all(values);
    pieces_.push_back([this, spec](Room&) { check_t1(spec); });
  }
  for (const Spin spin : {Spin::alpha, Spin::beta}) {
    if (spin == Spin::beta && header_.restricted) continue;
    if (check_.integrals && open_fock(file_, header_, spin)) {
      pieces_.push_back([this, spin](Room&) { check_fock(spin); });
    }
    if (of_energy && open_fock(integrals_file(), header_, spin)) {
      pieces_.push_back([this, spin](Room&) { add_singles(spin); });
    }
  }
  for (const ArraySpec& spec : amplitude_arrays(header_.restricted)) {
    if (header_.size(spec) == 0 || spec.kind != ArrayKind::t2) continue;
    const ArraySpec* const ovov = ovov_of(spec);
    ovov != nullptr ? add_pairs(spec, *ovov) : add_boxes(spec);
  }
  if (!own) return;
  for (const ArraySpec& spec : *own) {
    const bool with_t2 = spec.kind == ArrayKind::ovov && of_energy && other_ == nullptr;
    if (!with_t2) add_boxes(spec);
  }
}

void Checker::add_boxes(const ArraySpec& spec) {
  const CheckedArray& array = arrays_.emplace_back(file_, header_, spec, check_.box_doubles);
  for (const BoxIndex& at : array.begins()) {
    pieces_.push_back([&array, at](Room& room) { array.read(at, array.count(at), room[0], room[1]); });
  }
}

void Checker::add_pairs(const ArraySpec& t2, const ArraySpec& ovov) {
  const CheckedArray& amplitudes = arrays_.emplace_back(file_, header_, t2, check_.box_doubles);
  const std::int64_t i_count = header_.size(t2.axes[0]), j_count = header_.size(t2.axes[1]);
  const EnergyOfPairs& pairs =
      pairs_.emplace_back(CheckedArray(integrals_file(), header_, ovov, check_.box_doubles),
                          pair_weights(ovov, header_.restricted), std::span(t1_[number_of(t2.first)]),
                          std::span(t1_[header_.restricted ? 0 : number_of(t2.second)]), energies_.size(), j_count);
  energies_.resize(energies_.size() + static_cast<std::size_t>(i_count * j_count), 0.0);
  for (const BoxIndex& at : amplitudes.begins()) {
    pieces_.push_back([this, &amplitudes, &pairs, at](Room& room) {
      const BoxIndex count = amplitudes.count(at);
      const Boxes t = amplitudes.read(at, count, room[0], room[1]);
      // The same pairs as [i, a, j, b].
      const Boxes v = pairs.ovov.read({at[0], 0, at[1], 0}, {count[0], count[2], count[1], count[3]}, room[2], room[3]);
      add_energies(pairs, t.first, v.first);
      if (t.second) add_energies(pairs, *t.second, *v.second);
    });
  }
}

void Checker::add_energies(const EnergyOfPairs& pairs, const Box& t2, const Box& v2) {
  const std::int64_t a_size = t2.count[2], b_size = t2.count[3];
  for (std::int64_t i = 0; i < t2.count[0]; ++i) {
    for (std::int64_t j = 0; j < t2.count[1]; ++j) {
      const std::int64_t pair_i = t2.offset[0] + i, pair_j = t2.offset[1] + j;
      energies_[pairs.begin + static_cast<std::size_t>(pair_i * pairs.j_count + pair_j)] = pair_energy(
          pairs.weights, {a_size, b_size, t2.values.data() + i * t2.stride[0] + j * t2.stride[1],
                          v2.values.data() + i * v2.stride[0] + j * v2.stride[2], v2.stride[1],
                          pairs.t1_first.data() + pair_i * a_size, pairs.t1_second.data() + pair_j * b_size});
    }
  }
}

void Checker::check_t1(const ArraySpec& spec) const {
  const std::vector<double>& values = t1_[number_of(spec.first)];
  check_size(largest_magnitude(values, file_.path(), spec.name), largest_amplitude, file_.path(), spec.name);
  const std::vector<int>&i_irreps = irreps(spec.axes[0]), &a_irreps = irreps(spec.axes[1]);
  auto value = values.begin();
  for (std::size_t i = 0; i < i_irreps.size(); ++i) {
    for (std::size_t a = 0; a < a_irreps.size(); ++a, ++value) {
      if (i_irreps[i] == a_irreps[a] || std::abs(*value) <= irrep_tolerance) continue;
      throw_forbidden(file_.path(), spec.name, std::array{std::int64_t(i), std::int64_t(a)}, *value);
    }
  }
}

std::vector<double> Checker::read_fock(const Hdf5File& file, Spin spin) const {
  const Hdf5Dataset dataset = open_fock(file, header_, spin).value();
  std::vector<double> values(static_cast<std::size_t>(dataset.size()));
  dataset.read_all(values);
  check_size(largest_magnitude(values, file.path(), dataset.name()), largest_integral, file.path(), dataset.name());
  return values;
}

void Checker::check_fock(Spin spin) const {
  const std::vector<double> values = read_fock(file_, spin);
  const std::string name = fock_dataset(spin, header_.restricted);
  std::vector<int> irrep = irreps(class_of(Space::hole, spin));
  const std::vector<int>& particles = irreps(class_of(Space::particle, spin));
  irrep.insert(irrep.end(), particles.begin(), particles.end());
  const std::size_t n = irrep.size();
  for (std::size_t p = 0; p < n; ++p) {
    for (std::size_t q = 0; q < n; ++q) {
      const double value = values[p * n + q], other = values[q * n + p];
      if (irrep[p] != irrep[q] && std::abs(value) > irrep_tolerance) {
        throw_forbidden(file_.path(), name, std::array{std::int64_t(p), std::int64_t(q)}, value);
      }
      if (std::abs(value - other) > fock_tolerance * std::max(1.0, std::abs(value))) {
        throw InputError(
            fmt::format("{}: dataset '{}' is not symmetric, element [{},{}] is {:.10g} and [{},{}] is {:.10g}; "
                        "write the Fock matrix again.",
                        file_.path(), name, p, q, value, q, p, other));
      }
    }
  }
}

void Checker::add_singles(Spin spin) {
  const std::vector<double> fock = read_fock(integrals_file(), spin);
  const std::vector<double>& t1 = t1_[number_of(spin)];
  const std::size_t holes = irreps(class_of(Space::hole, spin)).size(),
                    particles = irreps(class_of(Space::particle, spin)).size();
  double sum = 0.0;
  for (std::size_t i = 0; i < holes; ++i) {
    for (std::size_t a = 0; a < particles; ++a)
      sum += fock[(holes + a) * (holes + particles) + i] * t1[i * particles + a];
  }
  energies_[number_of(spin)] = header_.restricted ? 2.0 * sum : sum;
}

std::vector<double> Checker::run() {
  std::vector<const Piece*> mine;
  for (std::size_t n = 0; n < pieces_.size(); ++n) {
    if (n % static_cast<std::size_t>(check_.parts) == static_cast<std::size_t>(check_.part))
      mine.push_back(&pieces_[n]);
  }
  const int most = check_.threads > 0 ? check_.threads : omp_get_max_threads();
  const auto threads = static_cast<int>(std::clamp<std::int64_t>(std::ssize(mine), 1, most));
  // While one thread reads, others look at what they have read.
  share_among_threads<Room>(mine.size(), threads, [&](std::size_t n, Room& room) { (*mine[n])(room); });
  return std::move(energies_);
}

}  // namespace

std::vector<double> check_dump(const DumpFile& dump, const DumpCheck& check) {
  return Checker(dump, check).run();
}

}  // namespace trifuse
