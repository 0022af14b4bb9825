#include "cxx/plan/complete_sums.hpp"

#include <algorithm>
#include <vector>

namespace trifuse {

namespace {

/// Adds the elements of a piece. `sums`, `values`: its first element and its first value.
void add(const CompleteSums::Piece& piece, const std::int64_t* sums, double* values) {
  const auto& [n0, n1, n2, n3] = piece.extent;
  const auto &from = piece.step_in_sums, &to = piece.step_in_values;
  for (std::int64_t w = 0; w < n0; ++w)
    for (std::int64_t x = 0; x < n1; ++x)
      for (std::int64_t y = 0; y < n2; ++y) {
        const std::int64_t* s = sums + w * from[0] + x * from[1] + y * from[2];
        double* v = values + w * to[0] + x * to[1] + y * to[2];
        for (std::int64_t z = 0; z < n3; ++z) v[z * to[3]] += piece.sign * static_cast<double>(s[z * from[3]]);
      }
}

}

void HostSums::read(std::span<const Piece> pieces, std::size_t size,
                    const std::function<void(std::span<const double>)>& use) const {
  const auto values = values_.take();
  values->assign(size, 0.0);
  for (const Piece& piece : pieces)
    add(piece, sums_.data() + piece.first_in_sums, values->data() + piece.first_in_values);
  use(*values);
}

void HostSums::get(std::size_t first, std::span<std::int64_t> elements) const {
  std::copy_n(sums_.data() + first, elements.size(), elements.data());
}

void HostSums::set(std::size_t first, std::span<const std::int64_t> elements) {
  std::copy(elements.begin(), elements.end(), sums_.data() + first);
}

}
