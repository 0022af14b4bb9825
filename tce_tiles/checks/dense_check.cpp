#include "tce_tiles/checks/dense_check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "cxx/base/blas.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/base/threads.hpp"
#include "tce_tiles/checks/checked_array.hpp"
#include "tce_tiles/checks/consistency.hpp"
#include "tce_tiles/checks/dense_slabs.hpp"
#include "tce_tiles/checks/factor_stages.hpp"
#include "tce_tiles/checks/pair_energy.hpp"
#include "tce_tiles/checks/small_arrays_check.hpp"
#include "tce_tiles/tiles/interruptible_source.hpp"

namespace trifuse {
namespace {

/// Number of slabs that the equation of the single excitations keeps. Threads work on neighbouring jobs, which need the
/// slabs of few occupied orbitals.
constexpr std::size_t cached_slabs = 4;

/// Number of energy terms before the terms of the pairs: one for the singles of each spin.
constexpr std::size_t singles_energies = 2;

/// The data for the energies of all pairs of one t2 array.
struct EnergyOfPairs {
  CheckedArray ovov;
  PairWeights weights;
  std::span<const double> t1_first, t1_second;
  std::size_t begin;  ///< the energy of pair i, j is energies_[begin + i * j_count + j]
  std::int64_t j_count;
};

class DenseChecker final : public SourceCheck {
 public:
  DenseChecker(const DenseInput& input, const DenseCheck& check)
      : input_(input), other_(check.test_with == &input ? nullptr : check.test_with), check_(check) {
    read_small_arrays();
    if (find_equations()) set_up_singles();
    factor_stages_.emplace(check_.integrals ? &input_ : nullptr, singles_ ? &input_of_integrals() : nullptr,
                           singles_ ? &*singles_ : nullptr, check_);
    plan();
  }

  int stages() const override { return dense_check_stages; }
  void read_together(int stage, Communicator& communicator) override {
    factor_stages_->read_together(stage, communicator);
  }
  std::vector<double> run(int stage) override;
  void accept(int stage, std::span<const double> sums) override;
  Measurements measurements() const override { return measured_; }
  std::size_t energy_count() const { return energies_.size(); }

 private:
  /// The buffers of one thread.
  using ThreadBuffers = std::array<Buffer, 4>;
  /// A piece of work of a stage, done by one thread.
  using Job = std::function<void(ThreadBuffers&)>;
  /// A job of the second stage. Threads take these jobs in the order of u, s, n. n is, up to a small shift, the
  /// occupied orbital whose amplitudes the job needs.
  struct OrbitalJob {
    int u, s;
    std::int64_t n;
    Job job;
  };

  std::span<const double> energies(OrbitalClass c) const { return header_.energies[static_cast<std::size_t>(c)]; }
  std::span<const Spin> spins() const { return distinct_spins(header_.restricted); }
  const DenseInput& input_of_integrals() const { return other_ != nullptr ? *other_ : input_; }
  const DenseArrays& arrays_of_integrals() const { return *input_of_integrals().arrays; }
  /// Returns the factors that are checked in place of integrals; null if there are none. Their integrals have all
  /// symmetries, and the factors limit their size. If irreps forbid integrals, FactorIrreps makes and checks them.
  static const FactorSource* factors(const DenseInput& input) { return input.factor_source.get(); }

  void read_small_arrays();
  bool find_equations();
  void set_up_singles();
  void plan();
  void plan_first_stage(const std::vector<ArraySpec>& own, const std::vector<ArraySpec>& tested);
  void plan_second_stage(const std::vector<ArraySpec>& own, const std::vector<ArraySpec>& tested);
  void add_boxes(const ArraySpec& spec);
  void add_doubles(const ArraySpec& t2, const ArraySpec* ovov);
  const EnergyOfPairs& pairs_of(const ArraySpec& t2, const ArraySpec& ovov);
  void add_overlap(const BoxPair& left, const BoxPair& right);
  void add_ovvv(const ArraySpec& spec, std::vector<OrbitalJob>& jobs);
  void add_pair_numbers(const EnergyOfPairs& pairs, const ArraySpec& spec, const ArrayBox& t2, const ArrayBox& v2);
  void add_singles(Spin spin);
  std::vector<double> sums_of_first_stage();
  /// Returns the sums over doubles in `measured_`, which processes add up after the first stage.
  std::vector<double*> sums_of_doubles();

  const DenseInput& input_;
  const DenseInput* other_;  ///< the input of the integrals if it is another input
  const DenseArrays& own_ = *input_.arrays;
  const DenseHeader& header_ = input_.header;
  DenseCheck check_;
  std::deque<CheckedArray> arrays_;
  std::deque<EnergyOfPairs> pairs_;
  std::array<std::vector<double>, 2> t1_;
  std::array<std::vector<double>, 2> fock_;  ///< f[p,q] by spin, from the input of the integrals; empty if it has none
  std::vector<double> energies_;
  std::optional<DenseSlabs> slabs_;
  std::optional<SinglesEquation> singles_;
  std::optional<FactorStages> factor_stages_;
  std::array<std::vector<Job>, dense_check_stages> jobs_;  ///< [stage]
  std::mutex mutex_;                                       ///< protects the sums in `measured_`
  Measurements measured_;
};

void DenseChecker::read_small_arrays() {
  t1_ = read_t1(own_, header_);
  for (const std::vector<double>& values : t1_) {
    for (const double t : values) measured_.largest_t1 = std::max(measured_.largest_t1, std::abs(t));
  }
  for (const ArraySpec& spec : amplitude_arrays(header_.restricted)) {
    if (header_.size(spec) == 0 || spec.kind != ArrayKind::t1) continue;
    jobs_[0].push_back([this, spec](ThreadBuffers&) { check_t1(own_, header_, spec, t1_[spin_index(spec.first)]); });
  }
  if (other_ == nullptr) return;
  const std::array<std::vector<double>, 2> right = read_t1(arrays_of_integrals(), header_);
  for (std::size_t spin = 0; spin < right.size(); ++spin) {
    if (!right[spin].empty()) measured_.singles_overlap().add(t1_[spin], right[spin]);
  }
}

/// Returns true if the energy and the singles equation can be evaluated. Otherwise sets the reason.
bool DenseChecker::find_equations() {
  const AmplitudeKind kind = header_.info.amplitudes;
  if (check_.test_with == nullptr) return false;
  if (kind == AmplitudeKind::lambda || kind == AmplitudeKind::made_up) {
    measured_.no_singles_reason = kind == AmplitudeKind::lambda ? "Lambda amplitudes obey other equations"
                                                                : "the amplitudes are made up and obey no equation";
    return false;
  }
  const DenseArrays& arrays = arrays_of_integrals();
  if (!present_integrals(arrays, header_)) return false;
  for (const Spin spin : spins()) fock_[spin_index(spin)] = read_checked_fock(arrays, header_, spin);
  measured_.fock_in_energy = !fock_[0].empty();
  // Without a Fock matrix the equations are complete only if Brillouin's theorem holds. It does not hold for ROHF.
  if (measured_.fock_in_energy || check_.test_with->header.info.reference != Reference::rohf) return true;
  measured_.no_singles_reason = "the reference is ROHF and the dump has no Fock matrix";
  return false;
}

void DenseChecker::set_up_singles() {
  SinglesProblem problem;
  problem.restricted = header_.restricted;
  problem.omega2 = header_.info.omega2;
  for (const Spin spin : spins()) {
    const std::size_t s = spin_index(spin);
    problem.occupied[s] = header_.size(hole_class(spin));
    problem.virtuals[s] = header_.size(particle_class(spin));
    problem.t1[s] = t1_[s];
    problem.fock[s] = fock_[s].empty() ? diagonal_fock(header_, spin) : fock_[s];
  }
  const DenseHeader& of_integrals = input_of_integrals().header;
  std::array<std::vector<double>, 2> occupied, virtuals;
  for (const Spin spin : spins()) {
    occupied[spin_index(spin)] = of_integrals.energies[static_cast<std::size_t>(hole_class(spin))];
    virtuals[spin_index(spin)] = of_integrals.energies[static_cast<std::size_t>(particle_class(spin))];
  }
  measured_.compare_energies(occupied, virtuals, fock_, of_integrals.info.reference == Reference::rohf);
  slabs_.emplace(own_, arrays_of_integrals(), header_);
  slabs_->describe(problem);
  use_single_threaded_blas();
  singles_.emplace(std::move(problem), *slabs_, cached_slabs);
  if (const FactorSource* const found = factors(input_of_integrals())) singles_->use_factors(*found);
}

void DenseChecker::plan() {
  const auto own = check_.integrals ? present_integrals(own_, header_) : std::nullopt;
  const auto tested = singles_ ? present_integrals(arrays_of_integrals(), header_) : std::nullopt;
  const std::vector<ArraySpec> none;
  plan_first_stage(own ? *own : none, tested ? *tested : none);
  plan_second_stage(own ? *own : none, tested ? *tested : none);
}

void DenseChecker::plan_first_stage(const std::vector<ArraySpec>& own, const std::vector<ArraySpec>& tested) {
  const auto ovov_of = [&](const ArraySpec& t2) -> const ArraySpec* {
    const auto found = std::find_if(tested.begin(), tested.end(), [&](const ArraySpec& spec) {
      return spec.kind == ArrayKind::ovov && spec.first == t2.first && spec.second == t2.second;
    });
    return found == tested.end() ? nullptr : &*found;
  };
  if (singles_) energies_.assign(singles_energies, 0.0);
  for (const Spin spin : spins()) {
    if (check_.integrals && open_fock(own_, header_, spin)) {
      jobs_[0].push_back([this, spin](ThreadBuffers&) { check_fock(own_, header_, spin); });
    }
    if (singles_ && !fock_[spin_index(spin)].empty()) {
      jobs_[0].push_back([this, spin](ThreadBuffers&) { add_singles(spin); });
    }
  }
  for (const ArraySpec& spec : amplitude_arrays(header_.restricted)) {
    if (header_.size(spec) == 0 || spec.kind != ArrayKind::t2) continue;
    add_doubles(spec, ovov_of(spec));
  }
  if (own.empty()) return;
  const bool of_factors = factors(input_) != nullptr;
  if (of_factors && !header_.symmetry) return;
  for (const ArraySpec& spec : own) {
    const bool with_t2 = spec.kind == ArrayKind::ovov && singles_ && other_ == nullptr;
    if (!with_t2 && spec.kind != ArrayKind::ovvv) add_boxes(spec);
  }
  if (of_factors) return;
  for (const ArraySpec& spec : present_exchange(own_, header_)) add_boxes(spec);
  for (const ArraySpec& spec : present_for_moments(own_, header_)) {
    if (are_diagonals(spec.kind)) {
      jobs_[0].push_back([this, spec](ThreadBuffers&) { check_diagonals(own_, header_, spec); });
    } else {
      add_boxes(spec);
    }
  }
}

/// Sorts the jobs by occupied orbital, so that all threads need the amplitudes of few orbitals at a time. The large
/// jobs (`add_orbital`) come a little before the boxes of their orbital, so that no large job ends last.
void DenseChecker::plan_second_stage(const std::vector<ArraySpec>& own, const std::vector<ArraySpec>& tested) {
  constexpr std::int64_t ahead = 2;
  std::vector<OrbitalJob> jobs;
  for (int u = 0; singles_ && u < singles_->spins(); ++u) {
    for (int s = 0; s < singles_->spins(); ++s) {
      for (std::int64_t n = 0; n < singles_->problem().occupied[static_cast<std::size_t>(u)]; ++n) {
        jobs.push_back({u, s, n - ahead, [this, u, s, n](ThreadBuffers&) { singles_->add_orbital(u, s, n); }});
      }
    }
  }
  for (const ArraySpec& spec : other_ != nullptr ? tested : own) {
    if (spec.kind == ArrayKind::ovvv && factors(input_of_integrals()) == nullptr) add_ovvv(spec, jobs);
  }
  std::stable_sort(jobs.begin(), jobs.end(), [](const OrbitalJob& x, const OrbitalJob& y) {
    return std::tie(x.u, x.s, x.n) < std::tie(y.u, y.s, y.n);
  });
  for (OrbitalJob& each : jobs) jobs_[1].push_back(std::move(each.job));
}

void DenseChecker::add_boxes(const ArraySpec& spec) {
  const CheckedArray& array = arrays_.emplace_back(own_, header_, spec, check_.box_doubles);
  for (const BoxIndex& at : array.begins()) {
    jobs_[0].push_back(
        [&array, at](ThreadBuffers& buffers) { array.read(at, array.count(at), buffers[0], buffers[1]); });
  }
}

void DenseChecker::add_ovvv(const ArraySpec& spec, std::vector<OrbitalJob>& jobs) {
  const CheckedArray& array = arrays_.emplace_back(arrays_of_integrals(), header_, spec, check_.box_doubles);
  // A box needs the slabs of all its occupied orbitals.
  if (singles_) singles_->cache_slabs(static_cast<std::size_t>(array.count({})[0]) - 1 + cached_slabs);
  const auto spin_number = [&](Spin spin) { return header_.restricted ? 0 : static_cast<int>(spin_index(spin)); };
  for (const BoxIndex& at : array.begins()) {
    const auto check_box = [this, &array, at](ThreadBuffers& buffers) {
      const BoxPair boxes = array.read(at, array.count(at), buffers[0], buffers[1]);
      if (!singles_) return;
      singles_->add_ovvv(array.spec(), boxes.first);
      if (boxes.second) singles_->add_ovvv(array.spec(), *boxes.second);
    };
    jobs.push_back({spin_number(spec.first), spin_number(spec.second), at[0], check_box});
  }
}

/// Returns the energies of the pairs of `t2`, with places for them in `energies_`.
const EnergyOfPairs& DenseChecker::pairs_of(const ArraySpec& t2, const ArraySpec& ovov) {
  const std::int64_t i_count = header_.size(t2.axes[0]), j_count = header_.size(t2.axes[1]);
  const EnergyOfPairs& pairs =
      pairs_.emplace_back(CheckedArray(arrays_of_integrals(), header_, ovov, check_.box_doubles),
                          pair_weights(ovov, header_.restricted), std::span(t1_[spin_index(t2.first)]),
                          std::span(t1_[header_.restricted ? 0 : spin_index(t2.second)]), energies_.size(), j_count);
  energies_.resize(energies_.size() + static_cast<std::size_t>(i_count * j_count), 0.0);
  return pairs;
}

/// Checks doubles. `ovov`: the integrals with which the equations test them; null if no equation tests them. Compares
/// left doubles with right doubles.
void DenseChecker::add_doubles(const ArraySpec& t2, const ArraySpec* ovov) {
  const CheckedArray& amplitudes = arrays_.emplace_back(own_, header_, t2, check_.box_doubles);
  const CheckedArray* right = nullptr;
  if (other_ != nullptr) {
    right = &arrays_.emplace_back(arrays_of_integrals(), header_, t2, check_.box_doubles);
    measured_.with_right.emplace();
  }
  const EnergyOfPairs* const pairs = ovov != nullptr ? &pairs_of(t2, *ovov) : nullptr;
  for (const BoxIndex& at : amplitudes.begins()) {
    jobs_[0].push_back([this, &amplitudes, right, pairs, at](ThreadBuffers& buffers) {
      const BoxIndex count = amplitudes.count(at);
      const BoxPair t = amplitudes.read(at, count, buffers[0], buffers[1]);
      if (right != nullptr) add_overlap(t, right->read(at, count, buffers[2], buffers[3]));
      if (pairs == nullptr) return;
      // Reads the box of ovov[i,a,j,b] with the same pairs i, j.
      const BoxPair v =
          pairs->ovov.read({at[0], 0, at[1], 0}, {count[0], count[2], count[1], count[3]}, buffers[2], buffers[3]);
      add_pair_numbers(*pairs, amplitudes.spec(), t.first, v.first);
      if (t.second) add_pair_numbers(*pairs, amplitudes.spec(), *t.second, *v.second);
    });
  }
}

void DenseChecker::add_overlap(const BoxPair& left, const BoxPair& right) {
  AmplitudeOverlap sums;
  sums.add(left.first.values, right.first.values);
  if (left.second) sums.add(left.second->values, right.second->values);
  const std::lock_guard lock(mutex_);
  add_sums(sums, *measured_.with_right);
  measured_.largest_t2 = std::max(measured_.largest_t2, left.first.largest);
}

void DenseChecker::add_pair_numbers(const EnergyOfPairs& pairs, const ArraySpec& spec, const ArrayBox& t2,
                                    const ArrayBox& v2) {
  const std::int64_t a_size = t2.count[2], b_size = t2.count[3];
  const bool opposite = header_.restricted || spec.first != spec.second;
  const auto eps_i = energies(hole_class(spec.first)), eps_a = energies(particle_class(spec.first));
  const Spin second = header_.restricted ? Spin::alpha : spec.second;
  const auto eps_j = energies(hole_class(second)), eps_b = energies(particle_class(second));
  const bool plain_of_equal_spins = !opposite && !pairs.ovov.spec().antisymmetrised;
  DoublesSums sums;
  for (std::int64_t i = 0; i < t2.count[0]; ++i) {
    for (std::int64_t j = 0; j < t2.count[1]; ++j) {
      const std::int64_t pair_i = t2.offset[0] + i, pair_j = t2.offset[1] + j;
      const double* const t = t2.values.data() + i * t2.stride[0] + j * t2.stride[1];
      const double* const v = v2.values.data() + i * v2.stride[0] + j * v2.stride[2];
      const double* const t1_i = pairs.t1_first.data() + pair_i * a_size;
      const double* const t1_j = pairs.t1_second.data() + pair_j * b_size;
      const PairNumbers numbers{a_size, b_size, t, v, v2.stride[1], t1_i, t1_j};
      energies_[pairs.begin + static_cast<std::size_t>(pair_i * pairs.j_count + pair_j)] =
          pair_energy(pairs.weights, numbers);
      add_squares(numbers, plain_of_equal_spins, sums);
      if (!opposite) continue;
      const double e_ij = eps_i[static_cast<std::size_t>(pair_i)] + eps_j[static_cast<std::size_t>(pair_j)];
      add_first_order(numbers, e_ij, eps_a, eps_b, sums);
    }
  }
  singles_->add_ovov(pairs.ovov.spec(), v2);
  const std::lock_guard lock(mutex_);
  add_sums(sums, measured_.doubles);
  measured_.largest_t2 = std::max(measured_.largest_t2, t2.largest);
}

void DenseChecker::add_singles(Spin spin) {
  const std::size_t s = spin_index(spin);
  const double sum =
      singles_energy(fock_[s], t1_[s], header_.size(hole_class(spin)), header_.size(particle_class(spin)));
  energies_[s] = header_.restricted ? 2.0 * sum : sum;
}

std::vector<double> DenseChecker::run(int stage) {
  const int most = most_threads(check_);
  std::vector<double> sums = factor_stages_->run(stage, most);
  const std::vector<Job>& all = jobs_[static_cast<std::size_t>(stage)];
  const auto part = static_cast<std::size_t>(check_.part), parts = static_cast<std::size_t>(check_.parts);
  std::vector<const Job*> mine;
  for (std::size_t n = 0; n < all.size(); ++n) {
    // In the second stage a process gets consecutive jobs, so that the jobs of one orbital stay together.
    const bool is_mine =
        stage == 0 ? n % parts == part : n >= all.size() * part / parts && n < all.size() * (part + 1) / parts;
    if (is_mine) mine.push_back(&all[n]);
  }
  auto threads = static_cast<int>(std::clamp<std::int64_t>(std::ssize(mine), 1, most));
  // Without memory for its buffers, OpenBLAS would wait for ever in a matrix product.
  auto bytes_of_boxes = 2 * static_cast<std::int64_t>(sizeof(double)) * check_.box_doubles;
  if (singles_) bytes_of_boxes += singles_->thread_bytes();
  if (singles_ && stage == 1) threads = threads_with_blas_memory(threads, bytes_of_boxes);
  // One thread reads while other threads check the boxes that they have read.
  share_among_threads<ThreadBuffers>(mine.size(), threads, [&](std::size_t n, ThreadBuffers& buffers) {
    stop_reading(check_.stop);
    (*mine[n])(buffers);
  });
  if (stage == 0) return sums_of_first_stage();
  if (stage == 2 && singles_) {
    const std::vector<double> of_singles = singles_->second_sums();
    sums.insert(sums.end(), of_singles.begin(), of_singles.end());
  }
  return sums;
}

std::vector<double*> DenseChecker::sums_of_doubles() {
  const auto of_own = measured_.doubles.members();
  std::vector<double*> sums(of_own.begin(), of_own.end());
  if (!measured_.with_right) return sums;
  const auto of_both = measured_.with_right->members();
  sums.insert(sums.end(), of_both.begin(), of_both.end());
  return sums;
}

std::vector<double> DenseChecker::sums_of_first_stage() {
  std::vector<double> sums = energies_;
  for (const double* each : sums_of_doubles()) sums.push_back(*each);
  if (!singles_) return sums;
  const std::vector<double> of_singles = singles_->first_sums();
  sums.insert(sums.end(), of_singles.begin(), of_singles.end());
  return sums;
}

void DenseChecker::accept(int stage, std::span<const double> sums) {
  sums = factor_stages_->accept(stage, sums);
  if (stage == 1 || (stage == 2 && !singles_)) return;
  if (stage == 2) {
    singles_->set_second_sums(sums);
    measured_.singles = singles_->residual();
    return;
  }
  double energy = 0.0;
  for (const double each : sums.first(energies_.size())) energy += each;
  sums = sums.subspan(energies_.size());
  for (double* each : sums_of_doubles()) {
    *each = sums.front();
    sums = sums.subspan(1);
  }
  if (!singles_) return;
  measured_.ccsd_energy = energy;
  singles_->set_first_sums(sums);
}

}

int most_threads(const DenseCheck& check) {
  return check.threads > 0 ? startable_threads(check.threads) : available_threads();
}

std::unique_ptr<SourceCheck> make_dense_check(const DenseInput& input, const DenseCheck& check) {
  return std::make_unique<DenseChecker>(input, check);
}

std::vector<double> check_dense(const DenseInput& input, const DenseCheck& check) {
  DenseChecker checker(input, check);
  const std::vector<double> first = checker.run(0);
  checker.accept(0, first);
  for (int stage = 1; stage < checker.stages(); ++stage) checker.run(stage);
  return {first.begin(), first.begin() + static_cast<std::ptrdiff_t>(checker.energy_count())};
}

}
