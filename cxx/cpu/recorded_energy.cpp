#include "cxx/cpu/recorded_energy.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/cpu/blas.hpp"
#include "cxx/cpu/energy_kernel.hpp"
#include "cxx/cpu/scatter.hpp"

namespace trifuse {

RecordedTaskOnCpu::RecordedTaskOnCpu() {
  use_single_threaded_blas();
}

RecordedTaskOnCpu::Energies RecordedTaskOnCpu::operator()(const RecordedTask& task, double factor,
                                                          const std::array<const double*, 6>& eps) {
  if (!task.complete()) {
    throw UsageError("The energies of a task were asked for before the memory of its singles and doubles.");
  }
  // The target is [c, b, a, k, j, i], runs of c padded with zeros.
  const auto [a, b, c, i, j, k] = task.extent();
  const std::int64_t run = padded_run(c), runs = a * b * i * j * k;
  const Six stride = target_strides(task.extent(), run);
  target_.reserve(static_cast<std::size_t>(run * runs));
  product_.reserve(static_cast<std::size_t>(c * runs));
  std::fill_n(target_.data(), run * runs, 0.0);
  for (int particle = 0; particle < 3; ++particle) {
    for (int hole = 0; hole < 3; ++hole) {
      const std::int64_t inner = task.inner(particle, hole);
      if (inner == 0) continue;
      task.assemble(particle, hole, left_, right_);
      const auto [p, pp] = others(particle);
      const auto [h, hh] = others(hole);
      // Free indices of the product, the fastest first: right rows [p', p, h], then left rows [p, h', h].
      const std::array<int, 6> slot = {pp, p, 3 + hole, particle, 3 + hh, 3 + h};
      Six extent{}, to{};
      for (std::size_t q = 0; q < 6; ++q) {
        extent[q] = task.extent()[static_cast<std::size_t>(slot[q])];
        to[q] = stride[static_cast<std::size_t>(slot[q])];
      }
      multiply_transposed(extent[0] * extent[1] * extent[2], extent[3] * extent[4] * extent[5], inner, right_.data(),
                          inner, left_.data(), inner, product_.data());
      scatter(product_.data(), extent, dense_strides(extent), to, -alone_sign(particle, hole), false, target_.data());
    }
  }

  const auto padding = static_cast<std::size_t>(padded_run(1));
  const std::vector<RecordedTask::Singles> singles = task.singles(padding);
  std::array<std::vector<double>, 6> energies;
  EnergyInput input;
  input.d_left[0] = input.d_right[0] = target_.data();
  input.extent = task.extent();
  for (std::size_t q = 0; q < 6; ++q) {
    energies[q].assign(eps[q], eps[q] + task.extent()[q]);
    energies[q].resize(energies[q].size() + padding);
    input.eps[q] = energies[q].data();
  }
  for (const RecordedTask::Singles& one : singles) {
    const Term& term = *one.term;
    input.singles.push_back({0, static_cast<double>(term.sign), term.particle, term.hole, others(term.particle),
                             others(term.hole), one.lone.data(), task.extent()[term.particle], one.pairs.data()});
  }
  input.factor = factor;
  const double omega2 = 0.0;
  TaskEnergy energy;
  sum_energies(input, {&omega2, 1}, {&energy, 1});
  const Energies found{energy.mixed_bracket, energy.mixed_paren};
  if (!std::isfinite(found.bracket) || !std::isfinite(found.paren)) {
    throw InputError("A task has an energy that is not finite: its amplitudes, integrals or orbital energies are not.");
  }
  return found;
}

}  // namespace trifuse
