#include "tce_tiles/checks/factor_irreps.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

#include "cxx/base/blas.hpp"
#include "cxx/base/buffer.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "tce_tiles/checks/checked_array.hpp"
#include "tce_tiles/factors/factors_of_ranks.hpp"
#include "tce_tiles/factors/slabs_of_ranks.hpp"
#include "tce_tiles/tiles/interruptible_source.hpp"

namespace trifuse {

FactorIrreps::FactorIrreps(const DenseInput& input) : input_(input) {
  const bool restricted = input.header.restricted;
  std::vector<ArraySpec> all = integral_arrays(restricted);
  for (const ArraySpec& spec : exchange_arrays(restricted)) all.push_back(spec);
  for (const OrbitalClass particles : {OrbitalClass::particle_alpha, OrbitalClass::particle_beta}) {
    Group group{particles, {}};
    for (const ArraySpec& spec : all) {
      const bool with_vv = spec.kind == ArrayKind::ovvv || spec.kind == ArrayKind::oovv;
      if (with_vv && spec.axes[2] == particles && input.header.size(spec) > 0) group.arrays.push_back(spec);
    }
    if (!group.arrays.empty()) groups_.push_back(std::move(group));
  }
}

std::int64_t FactorIrreps::rounds_of(const Group& group, int parts) const {
  return rounds(input_.header.size(hole_class(spin_of(group.particles))), input_.header.size(group.particles), parts);
}

std::vector<FactorSlab> FactorIrreps::slabs_of_round(const Group& group, int part, int parts,
                                                     std::int64_t round) const {
  // Each part has one slab of small b and its mirror image. The number of pairs c <= b is the same for all parts.
  const std::int64_t v = input_.header.size(group.particles), slabs = 2 * parts * rounds_of(group, parts);
  const std::int64_t small = round * parts + part;
  std::vector<FactorSlab> found;
  for (const std::int64_t n : {small, slabs - 1 - small}) {
    const std::int64_t begin = v * n / slabs, end = v * (n + 1) / slabs;
    found.push_back({{group.particles, begin, end - begin}, {group.particles, 0, end}, {}});
  }
  return found;
}

void FactorIrreps::run(int part, int parts, int threads, const std::atomic<bool>* stop,
                       Communicator* communicator) const {
  static const std::atomic<bool> never{false};
  const InterruptibleFactors factors(input_.factor_source.get(), stop != nullptr ? *stop : never);
  use_single_threaded_blas();
  std::array<Buffer, 2> values;
  for (const Group& group : groups_) {
    for (std::int64_t round = 0; round < rounds_of(group, parts); ++round) {
      std::vector<SlabOfRank> slabs;
      std::vector<FactorSlab> own = slabs_of_round(group, part, parts, round);
      run_collectively(communicator, [&] {
        stop_reading(stop);
        for (std::size_t n = 0; n < own.size(); ++n) {
          const auto doubles = static_cast<std::size_t>(own[n].p.count * factors.auxiliary() * own[n].d.count);
          values[n].reserve(doubles);
          own[n].values = values[n].span().first(doubles);
        }
      });
      for (int other = 0; other < parts; ++other) {
        if (other != part && communicator == nullptr) continue;
        for (const FactorSlab& slab : other == part ? own : slabs_of_round(group, other, parts, round)) {
          slabs.push_back({other, slab});
        }
      }
      read_slabs_of_ranks(communicator, factors, slabs, {threads, exchanged_factor_bytes});
      run_collectively(communicator, [&] {
        for (const auto& [p, d, numbers] : own) {
          if (p.count > 0) check_slab(group, {p.begin, p.count, d.count, numbers.data()}, threads, stop);
        }
      });
    }
  }
}

void FactorIrreps::check_slab(const Group& group, const Slab& slab, int threads, const std::atomic<bool>* stop) const {
  const std::int64_t auxiliary = input_.factor_source->auxiliary();
  for (const ArraySpec& array : group.arrays) {
    const std::int64_t bytes =
        static_cast<std::int64_t>(sizeof(double)) * input_.header.size(array.axes[1]) * (auxiliary + slab.width);
    share_in_turns(static_cast<std::size_t>(input_.header.size(array.axes[0])),
                   threads_with_blas_memory(threads, bytes), [&](std::size_t p) {
                     stop_reading(stop);
                     check_hole(array, static_cast<std::int64_t>(p), slab);
                   });
  }
}

void FactorIrreps::check_hole(const ArraySpec& array, std::int64_t p, const Slab& slab) const {
  const FactorSource& factors = *input_.factor_source;
  const std::int64_t auxiliary = factors.auxiliary(), q_count = input_.header.size(array.axes[1]);
  const auto irrep = [&](std::size_t axis, std::int64_t n) {
    return input_.header.irreps[static_cast<std::size_t>(array.axes[axis])][static_cast<std::size_t>(n)];
  };
  thread_local Buffer rows, products;
  rows.reserve(static_cast<std::size_t>(q_count * auxiliary));
  const std::span<double> of_p = rows.span().first(static_cast<std::size_t>(q_count * auxiliary));
  const ClassOrbitals one{array.axes[0], p, 1}, all{array.axes[1], 0, q_count};
  array.kind == ArrayKind::oovv ? factors.read_oo(one, all, of_p) : factors.read_ov(one, all, of_p);
  products.reserve(static_cast<std::size_t>(q_count * slab.width));
  for (std::int64_t k = 0; k < slab.count; ++k) {
    const std::int64_t b = slab.begin + k, c_count = b + 1;
    std::fill_n(products.data(), q_count * c_count, 0.0);
    multiply_add(false, false, q_count, c_count, auxiliary, 1.0, of_p.data(), auxiliary,
                 slab.values + k * auxiliary * slab.width, slab.width, products.data(), c_count);
    const double* value = products.data();
    for (std::int64_t q = 0; q < q_count; ++q) {
      const int product = irrep(0, p) ^ irrep(1, q) ^ irrep(2, b);
      for (std::int64_t c = 0; c < c_count; ++c, ++value) {
        if (irrep(3, c) == product || std::abs(*value) <= irrep_tolerance) continue;
        throw_forbidden(input_.arrays->label(array.name), std::array{p, q, b, c}, *value);
      }
    }
  }
}

}
