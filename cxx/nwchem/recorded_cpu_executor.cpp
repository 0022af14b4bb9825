#include <algorithm>
#include <vector>

#include "cxx/base/blas.hpp"
#include "cxx/cpu/energy_kernel.hpp"
#include "cxx/cpu/scatter.hpp"
#include "cxx/nwchem/recorded_executor.hpp"

namespace trifuse {

namespace {

/// Copies the operand of one call to to[x,y,z,d] with `row` doubles from one z to the next; d runs over the
/// `contracted` contracted indices of the call. `extent`: extents of the three row indices. `order`: the numbers of x,
/// y and z among these indices.
void lay_out(const RecordedTask::Strided& from, std::int64_t contracted, const std::array<std::int64_t, 3>& extent,
             const std::array<std::size_t, 3>& order, std::int64_t row, double* to) {
  const auto [x, y, z] = order;
  for (std::int64_t nx = 0; nx < extent[x]; ++nx)
    for (std::int64_t ny = 0; ny < extent[y]; ++ny)
      for (std::int64_t nz = 0; nz < extent[z]; ++nz, to += row) {
        const double* source = from.data + nx * from.row[x] + ny * from.row[y] + nz * from.row[z];
        for (std::int64_t d = 0; d < contracted; ++d) to[d] = source[d * from.contracted];
      }
}

class RecordedCpuExecutor final : public RecordedExecutor {
 public:
  RecordedCpuExecutor() { use_single_threaded_blas(); }

  OperandStore& operands() override { return operands_; }
  Energies execute(const RecordedTask& task, double weight, const std::array<const double*, 6>& eps) override;

 private:
  void add_products(const RecordedTask& task, int particle, int hole, const Six& stride);

  HostOperands operands_;
  Buffer target_, product_, left_, right_;
};

/// Adds the products of all calls with this lone particle and lone hole (positions 0 to 2) to the target. `stride`:
/// strides of the target for a, b, c, i, j, k.
void RecordedCpuExecutor::add_products(const RecordedTask& task, int particle, int hole, const Six& stride) {
  const std::vector<RecordedTask::OperandPair> pairs = task.operand_pairs(particle, hole);
  std::int64_t contracted = 0;
  for (const RecordedTask::OperandPair& pair : pairs) contracted += pair.contracted;
  if (contracted == 0) return;
  const auto [p, pp] = others(particle);
  const auto [h, hh] = others(hole);
  const auto size = [&](int position) { return task.extent()[static_cast<std::size_t>(position)]; };
  const std::array<std::int64_t, 3> left = {size(particle), size(3 + h), size(3 + hh)},
                                    right = {size(p), size(pp), size(3 + hole)};
  const std::int64_t left_rows = left[0] * left[1] * left[2], right_rows = right[0] * right[1] * right[2];
  left_.reserve(static_cast<std::size_t>(contracted * left_rows));
  right_.reserve(static_cast<std::size_t>(contracted * right_rows));
  std::int64_t done = 0;
  for (const RecordedTask::OperandPair& pair : pairs) {
    lay_out(pair.left, pair.contracted, left, {1, 2, 0}, contracted, left_.data() + done);
    lay_out(pair.right, pair.contracted, right, {2, 0, 1}, contracted, right_.data() + done);
    done += pair.contracted;
  }
  multiply_transposed(right_rows, left_rows, contracted, right_.data(), contracted, left_.data(), contracted,
                      product_.data());
  // The product is an array [h',h'',p,h,p',p'']: left rows [h',h'',p], then right rows [h,p',p'']. `scatter` takes its
  // indices in the reverse order.
  const std::array<int, 6> slot = {pp, p, 3 + hole, particle, 3 + hh, 3 + h};
  Six extent{}, to{};
  for (std::size_t q = 0; q < 6; ++q) {
    extent[q] = size(slot[q]);
    to[q] = stride[static_cast<std::size_t>(slot[q])];
  }
  scatter(product_.data(), extent, dense_strides(extent), to, -alone_sign(particle, hole), false, target_.data());
}

Energies RecordedCpuExecutor::execute(const RecordedTask& task, double weight,
                                      const std::array<const double*, 6>& eps) {
  check_complete(task);
  // The target is an array [i,j,k,a,b,c] whose rows of c are padded with zeros.
  const auto [a, b, c, i, j, k] = task.extent();
  const std::int64_t row = row_length(c), rows = a * b * i * j * k;
  const Six stride = target_strides(task.extent(), row);
  target_.reserve(static_cast<std::size_t>(row * rows));
  product_.reserve(static_cast<std::size_t>(c * rows));
  std::fill_n(target_.data(), row * rows, 0.0);
  for (int particle = 0; particle < 3; ++particle) {
    for (int hole = 0; hole < 3; ++hole) add_products(task, particle, hole, stride);
  }

  const auto padding = static_cast<std::size_t>(row_length(1));
  const std::vector<RecordedTask::Singles> singles = task.singles();
  // t1 and v2 of each term, with padding, because the sum over a row of c reads beyond its end.
  std::vector<std::vector<double>> factors;
  factors.reserve(2 * singles.size());
  std::array<std::vector<double>, 6> energies;
  EnergyInput input;
  input.left[0].d[0] = input.d_right[0] = target_.data();
  input.step[0] = stride;
  input.extent = task.extent();
  for (std::size_t q = 0; q < 6; ++q) {
    energies[q].assign(eps[q], eps[q] + task.extent()[q]);
    energies[q].resize(energies[q].size() + padding);
    input.eps[q] = energies[q].data();
  }
  for (const RecordedTask::Singles& one : singles) {
    const Term& term = *one.term;
    const auto [p, pp] = others(term.particle);
    const auto [h, hh] = others(term.hole);
    const auto size = [&](int position) { return task.extent()[static_cast<std::size_t>(position)]; };
    const std::int64_t factor_size = size(term.particle) * size(3 + term.hole);
    std::vector<double>& t1 = factors.emplace_back(one.t1, one.t1 + factor_size);
    t1.resize(t1.size() + padding);
    std::vector<double>& vvoo = factors.emplace_back();
    for (std::int64_t nh = 0; nh < size(3 + h); ++nh)
      for (std::int64_t nhh = 0; nhh < size(3 + hh); ++nhh)
        for (std::int64_t np = 0; np < size(p); ++np)
          for (std::int64_t npp = 0; npp < size(pp); ++npp) {
            vvoo.push_back(one.vvoo[np * one.row[0] + npp * one.row[1] + nh * one.row[2] + nhh * one.row[3]]);
          }
    vvoo.resize(vvoo.size() + padding);
    input.left[0].singles.push_back({0,
                                     static_cast<double>(term.sign),
                                     term.particle,
                                     term.hole,
                                     {p, pp},
                                     {h, hh},
                                     t1.data(),
                                     size(term.particle),
                                     vvoo.data()});
  }
  input.weight = weight;
  const double omega2 = 0.0;
  TaskEnergy energy;
  sum_energies(input, {&omega2, 1}, {&energy, 1});
  return checked(energy.mixed);
}

}

std::unique_ptr<RecordedExecutor> make_recorded_cpu_executor() {
  return std::make_unique<RecordedCpuExecutor>();
}

}
