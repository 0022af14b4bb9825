#include "cxx/cuda/runtime/device_quotients.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace trifuse::gpu {

namespace {

using Terms = TripleDenominators::Terms;

std::int64_t numbers_of(const Terms& terms) {
  return std::ssize(terms.hh) + std::ssize(terms.pp) + std::ssize(terms.hp) + std::ssize(terms.hhp) +
         std::ssize(terms.hpp);
}

/// Returns an array [rows, columns] as [columns, rows]; an empty one stays empty.
std::vector<double> transposed(const std::vector<double>& array, std::size_t rows, std::size_t columns) {
  std::vector<double> result(array.size());
  if (array.empty()) return result;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) result[c * rows + r] = array[r * columns + c];
  return result;
}

}

std::int64_t DeviceQuotients::table_bytes(const Problem& problem) {
  const TripleDenominators* const tables = problem.denominators;
  if (tables == nullptr) return 0;
  return (std::ssize(tables->h) + std::ssize(tables->p) + numbers_of(tables->same) + numbers_of(tables->opposite)) *
         static_cast<std::int64_t>(sizeof(double));
}

void DeviceQuotients::upload(const Problem& problem, const TileSpace& space) {
  count_ = static_cast<int>(problem.quotients.size());
  for (int n = 0; n < problem.left_sides(); ++n) sets_end_[static_cast<std::size_t>(n)] = problem.sets_end(n);
  trifuse::gpu::upload(omega2_, std::span<const double>(problem.omega2()));
  trifuse::gpu::upload(quotients_, std::span<const Quotient>(problem.quotients));
  tables_ = {};
  if (problem.denominators == nullptr) return;
  const TripleDenominators& x = *problem.denominators;
  const auto holes = static_cast<std::size_t>(x.holes), particles = static_cast<std::size_t>(x.particles);
  std::vector<double> numbers;
  const auto add = [&](const std::vector<double>& array) {
    const std::size_t begin = numbers.size();
    numbers.insert(numbers.end(), array.begin(), array.end());
    return begin;
  };
  using Begins = std::array<std::size_t, 5>;
  const auto add_terms = [&](const Terms& terms) {
    return Begins{add(terms.hh), add(terms.pp), add(transposed(terms.hp, holes, particles)),
                  add(transposed(terms.hhp, holes * holes, particles)),
                  add(transposed(terms.hpp, holes, particles * particles))};
  };
  const std::size_t h = add(x.h), p = add(x.p);
  const Begins same = add_terms(x.same), opposite = add_terms(x.opposite);
  trifuse::gpu::upload(numbers_, std::span<const double>(numbers));
  const double* const first = numbers_.data();
  const auto terms_at = [&](const Begins& at) {
    return DeviceTables::Terms{first + at[0], first + at[1], first + at[2], first + at[3], first + at[4]};
  };
  tables_ = {
      first + h,
      first + p,
      terms_at(same),
      terms_at(opposite),
      x.holes,
      x.particles,
      static_cast<std::int32_t>(space.orbitals(OrbitalClass::hole_alpha) + space.orbitals(OrbitalClass::hole_beta))};
}

void DeviceQuotients::set(KernelParameters& parameters) const {
  parameters.omega2 = omega2_.data();
  parameters.omega2_count = count_;
  parameters.quotients = quotients_.data();
  parameters.tables = tables_;
  std::copy(sets_end_.begin(), sets_end_.end(), parameters.sets_end);
}

}
