#include "tce_tiles/factor_irreps.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

#include "cxx/base/blas.hpp"
#include "cxx/base/buffer.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "tce_tiles/dump_boxes.hpp"
#include "tce_tiles/factor_slabs.hpp"
#include "tce_tiles/interruptible_source.hpp"

namespace trifuse {
namespace {

/// The first particle of a part. Parts have about the same number of pairs c <= b.
std::int64_t first_particle(std::int64_t particles, int part, int parts) {
  return std::llround(static_cast<double>(particles) * std::sqrt(static_cast<double>(part) / parts));
}

}  // namespace

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

void FactorIrreps::run(int part, int parts, int threads, const std::atomic<bool>* stop) const {
  static const std::atomic<bool> never{false};
  const InterruptibleFactors factors(input_.factor_source.get(), stop != nullptr ? *stop : never);
  use_single_threaded_blas();
  for (const Group& group : groups_) {
    const std::int64_t v = input_.header.size(group.particles), end = first_particle(v, part + 1, parts);
    const bool alpha = group.particles == OrbitalClass::particle_alpha;
    const std::int64_t holes = input_.header.size(alpha ? OrbitalClass::hole_alpha : OrbitalClass::hole_beta);
    const std::int64_t step = slab_particles(holes, v);
    Buffer values;
    for (std::int64_t b = first_particle(v, part, parts); b < end; b += step) {
      const std::int64_t count = std::min(step, end - b), width = b + count;
      const auto doubles = static_cast<std::size_t>(count * factors.auxiliary() * width);
      stop_reading(stop);
      values.reserve(doubles);
      const FactorSlab slab{{group.particles, b, count}, {group.particles, 0, width}, values.span().first(doubles)};
      read_slabs(factors, std::span(&slab, 1), threads);
      check_slab(group, {b, count, width, values.data()}, threads, stop);
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
  const DenseFactors& factors = *input_.factor_source;
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

}  // namespace trifuse
