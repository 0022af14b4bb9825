#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "cxx/contraction/description.hpp"

/// The 48 contractions of the tensor contraction benchmark of Springer and Bientinesi (TCCG), by which contraction
/// codes are compared.
namespace trifuse::contraction {

enum class TccgGroup {
  tensor_times_matrix,  ///< of machine learning
  ao_to_mo,             ///< one step of an integral transformation
  ccsd_products,
  triples_products,  ///< a product of the connected triples
};
/// Returns the name of a group for people, e.g. "CCSD(T)".
std::string_view name_of(TccgGroup group);

struct TccgContraction {
  int number;  ///< 1 to 48, as in the publications
  TccgGroup group;
  const char* expression;               ///< in C order; the publications write the same in Fortran order
  std::array<std::int64_t, 7> extents;  ///< of the indices a, b, c, ...; 0 behind the last one
};

/// Returns all of them in the order of their numbers.
std::span<const TccgContraction> tccg_contractions();

/// The layouts of A, B and C, which have C order without gaps.
using TccgLayouts = std::array<Layout, 3>;
/// Returns the layouts of a contraction. `share`: the largest tensor has about this share of its size in the benchmark;
/// all extents are scaled by the same factor and are then multiples of 4.
TccgLayouts layouts_of(const TccgContraction& contraction, double share = 1.0);

}
