#include "cxx/contraction/tccg.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace trifuse::contraction {

namespace {

using Group = TccgGroup;

// clang-format off
constexpr std::array<TccgContraction, 48> table = {{
    {1, Group::tensor_times_matrix, "adb,cd->cba", {312, 312, 24, 312}},
    {2, Group::tensor_times_matrix, "acd,db->cba", {312, 24, 296, 312}},
    {3, Group::tensor_times_matrix, "aebd,ce->dcba", {72, 72, 24, 72, 72}},
    {4, Group::tensor_times_matrix, "aced,eb->dcba", {72, 24, 72, 72, 72}},
    {5, Group::tensor_times_matrix, "dabe,ec->dcba", {72, 72, 24, 72, 72}},
    {6, Group::tensor_times_matrix, "dabfe,fc->edcba", {48, 32, 24, 32, 48, 32}},
    {7, Group::tensor_times_matrix, "afbce,df->edcba", {48, 32, 32, 24, 48, 48}},
    {8, Group::tensor_times_matrix, "dacfe,fb->edcba", {48, 24, 32, 32, 48, 32}},
    {9, Group::ao_to_mo, "ae,dcbe->dcba", {72, 72, 72, 72, 72}},
    {10, Group::ao_to_mo, "be,dcea->dcba", {72, 72, 72, 72, 72}},
    {11, Group::ao_to_mo, "ce,deba->dcba", {72, 72, 72, 72, 72}},
    {12, Group::ccsd_products, "ca,bc->ba", {5136, 5120, 5136}},
    {13, Group::ccsd_products, "dca,cbd->ba", {312, 296, 296, 312}},
    {14, Group::ccsd_products, "dac,bcd->ba", {312, 296, 312, 312}},
    {15, Group::ccsd_products, "dca,bd->cba", {312, 296, 296, 312}},
    {16, Group::ccsd_products, "da,cdb->cba", {312, 312, 296, 296}},
    {17, Group::ccsd_products, "cda,db->cba", {312, 312, 296, 296}},
    {18, Group::ccsd_products, "cda,bd->cba", {312, 296, 296, 312}},
    {19, Group::ccsd_products, "ceda,dbe->cba", {72, 72, 72, 72, 72}},
    {20, Group::ccsd_products, "fbea,ecfd->dcba", {72, 72, 72, 72, 72, 72}},
    {21, Group::ccsd_products, "fbea,cedf->dcba", {72, 72, 72, 72, 72, 72}},
    {22, Group::ccsd_products, "fcea,edfb->dcba", {72, 72, 72, 72, 72, 72}},
    {23, Group::ccsd_products, "fcea,debf->dcba", {72, 72, 72, 72, 72, 72}},
    {24, Group::ccsd_products, "fdea,ecfb->dcba", {72, 72, 72, 72, 72, 72}},
    {25, Group::ccsd_products, "fdea,cebf->dcba", {72, 72, 72, 72, 72, 72}},
    {26, Group::ccsd_products, "bfea,ecdf->dcba", {72, 72, 72, 72, 72, 72}},
    {27, Group::ccsd_products, "cfea,debf->dcba", {72, 72, 72, 72, 72, 72}},
    {28, Group::ccsd_products, "bfae,cedf->dcba", {72, 72, 72, 72, 72, 72}},
    {29, Group::ccsd_products, "cfae,edfb->dcba", {72, 72, 72, 72, 72, 72}},
    {30, Group::ccsd_products, "dfae,cebf->dcba", {72, 72, 72, 72, 72, 72}},
    {31, Group::triples_products, "aged,cbfg->fedcba", {24, 16, 16, 24, 16, 16, 24}},
    {32, Group::triples_products, "bged,cafg->fedcba", {24, 16, 16, 24, 16, 16, 24}},
    {33, Group::triples_products, "cged,bafg->fedcba", {24, 16, 16, 24, 16, 16, 24}},
    {34, Group::triples_products, "agfd,cbeg->fedcba", {24, 16, 16, 24, 16, 16, 24}},
    {35, Group::triples_products, "bgfd,caeg->fedcba", {24, 16, 16, 24, 16, 16, 24}},
    {36, Group::triples_products, "cgfd,baeg->fedcba", {24, 16, 16, 24, 16, 16, 24}},
    {37, Group::triples_products, "agfe,cbdg->fedcba", {24, 16, 16, 16, 24, 16, 24}},
    {38, Group::triples_products, "bgfe,cadg->fedcba", {24, 16, 16, 16, 24, 16, 24}},
    {39, Group::triples_products, "cgfe,badg->fedcba", {24, 16, 16, 16, 24, 16, 24}},
    {40, Group::triples_products, "badg,cgfe->fedcba", {24, 16, 16, 16, 24, 16, 24}},
    {41, Group::triples_products, "cadg,bgfe->fedcba", {24, 16, 16, 16, 24, 16, 24}},
    {42, Group::triples_products, "cbdg,agfe->fedcba", {24, 16, 16, 16, 24, 16, 24}},
    {43, Group::triples_products, "baeg,cgfd->fedcba", {24, 16, 16, 24, 16, 16, 24}},
    {44, Group::triples_products, "caeg,bgfd->fedcba", {24, 16, 16, 24, 16, 16, 24}},
    {45, Group::triples_products, "cbeg,agfd->fedcba", {24, 16, 16, 24, 16, 16, 24}},
    {46, Group::triples_products, "bafg,cged->fedcba", {24, 16, 16, 24, 16, 16, 24}},
    {47, Group::triples_products, "cafg,bged->fedcba", {24, 16, 16, 24, 16, 16, 24}},
    {48, Group::triples_products, "cbfg,aged->fedcba", {24, 16, 16, 24, 16, 16, 24}},
}};
// clang-format on

}

std::span<const TccgContraction> tccg_contractions() {
  return table;
}

std::string_view name_of(TccgGroup group) {
  switch (group) {
    case Group::tensor_times_matrix:
      return "tensor times matrix";
    case Group::ao_to_mo:
      return "AO to MO";
    case Group::ccsd_products:
      return "CCSD";
    case Group::triples_products:
      return "CCSD(T)";
  }
  return "";
}

TccgLayouts layouts_of(const TccgContraction& contraction, double share) {
  const std::string_view text = contraction.expression;
  const std::size_t comma = text.find(','), arrow = text.find("->");
  const std::array<std::string_view, 3> letters = {text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1),
                                                   text.substr(arrow + 2)};
  const auto extent = [&](char letter) { return contraction.extents[static_cast<std::size_t>(letter - 'a')]; };
  const auto size = [&](std::string_view tensor) {
    double product = 1.0;
    for (const char letter : tensor) product *= static_cast<double>(extent(letter));
    return product;
  };
  const std::string_view largest = *std::max_element(
      letters.begin(), letters.end(), [&](std::string_view x, std::string_view y) { return size(x) < size(y); });
  const double factor = std::pow(share, 1.0 / static_cast<double>(largest.size()));
  TccgLayouts layouts;
  for (const Tensor t : {A, B, C}) {
    for (const char letter : letters[t]) {
      constexpr double unit = 4.0;
      const double scaled = factor == 1.0
                                ? static_cast<double>(extent(letter))
                                : unit * std::max(1.0, std::round(factor * static_cast<double>(extent(letter)) / unit));
      layouts[t].extents.push_back(static_cast<std::int64_t>(scaled));
    }
  }
  return layouts;
}

}
