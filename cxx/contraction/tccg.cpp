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
    {12, Group::ccsd, "ca,bc->ba", {5136, 5120, 5136}},
    {13, Group::ccsd, "dca,cbd->ba", {312, 296, 296, 312}},
    {14, Group::ccsd, "dac,bcd->ba", {312, 296, 312, 312}},
    {15, Group::ccsd, "dca,bd->cba", {312, 296, 296, 312}},
    {16, Group::ccsd, "da,cdb->cba", {312, 312, 296, 296}},
    {17, Group::ccsd, "cda,db->cba", {312, 312, 296, 296}},
    {18, Group::ccsd, "cda,bd->cba", {312, 296, 296, 312}},
    {19, Group::ccsd, "ceda,dbe->cba", {72, 72, 72, 72, 72}},
    {20, Group::ccsd, "fbea,ecfd->dcba", {72, 72, 72, 72, 72, 72}},
    {21, Group::ccsd, "fbea,cedf->dcba", {72, 72, 72, 72, 72, 72}},
    {22, Group::ccsd, "fcea,edfb->dcba", {72, 72, 72, 72, 72, 72}},
    {23, Group::ccsd, "fcea,debf->dcba", {72, 72, 72, 72, 72, 72}},
    {24, Group::ccsd, "fdea,ecfb->dcba", {72, 72, 72, 72, 72, 72}},
    {25, Group::ccsd, "fdea,cebf->dcba", {72, 72, 72, 72, 72, 72}},
    {26, Group::ccsd, "bfea,ecdf->dcba", {72, 72, 72, 72, 72, 72}},
    {27, Group::ccsd, "cfea,debf->dcba", {72, 72, 72, 72, 72, 72}},
    {28, Group::ccsd, "bfae,cedf->dcba", {72, 72, 72, 72, 72, 72}},
    {29, Group::ccsd, "cfae,edfb->dcba", {72, 72, 72, 72, 72, 72}},
    {30, Group::ccsd, "dfae,cebf->dcba", {72, 72, 72, 72, 72, 72}},
    {31, Group::ccsd_t, "aged,cbfg->fedcba", {24, 16, 16, 24, 16, 16, 24}},
    {32, Group::ccsd_t, "bged,cafg->fedcba", {24, 16, 16, 24, 16, 16, 24}},
    {33, Group::ccsd_t, "cged,bafg->fedcba", {24, 16, 16, 24, 16, 16, 24}},
    {34, Group::ccsd_t, "agfd,cbeg->fedcba", {24, 16, 16, 24, 16, 16, 24}},
    {35, Group::ccsd_t, "bgfd,caeg->fedcba", {24, 16, 16, 24, 16, 16, 24}},
    {36, Group::ccsd_t, "cgfd,baeg->fedcba", {24, 16, 16, 24, 16, 16, 24}},
    {37, Group::ccsd_t, "agfe,cbdg->fedcba", {24, 16, 16, 16, 24, 16, 24}},
    {38, Group::ccsd_t, "bgfe,cadg->fedcba", {24, 16, 16, 16, 24, 16, 24}},
    {39, Group::ccsd_t, "cgfe,badg->fedcba", {24, 16, 16, 16, 24, 16, 24}},
    {40, Group::ccsd_t, "badg,cgfe->fedcba", {24, 16, 16, 16, 24, 16, 24}},
    {41, Group::ccsd_t, "cadg,bgfe->fedcba", {24, 16, 16, 16, 24, 16, 24}},
    {42, Group::ccsd_t, "cbdg,agfe->fedcba", {24, 16, 16, 16, 24, 16, 24}},
    {43, Group::ccsd_t, "baeg,cgfd->fedcba", {24, 16, 16, 24, 16, 16, 24}},
    {44, Group::ccsd_t, "caeg,bgfd->fedcba", {24, 16, 16, 24, 16, 16, 24}},
    {45, Group::ccsd_t, "cbeg,agfd->fedcba", {24, 16, 16, 24, 16, 16, 24}},
    {46, Group::ccsd_t, "bafg,cged->fedcba", {24, 16, 16, 24, 16, 16, 24}},
    {47, Group::ccsd_t, "cafg,bged->fedcba", {24, 16, 16, 24, 16, 16, 24}},
    {48, Group::ccsd_t, "cbfg,aged->fedcba", {24, 16, 16, 24, 16, 16, 24}},
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
    case Group::ccsd:
      return "CCSD";
    case Group::ccsd_t:
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
