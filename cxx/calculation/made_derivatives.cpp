#include "cxx/calculation/made_derivatives.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "cxx/base/share_among_threads.hpp"
#include "cxx/base/threads.hpp"
#include "cxx/calculation/factor_derivatives.hpp"
#include "cxx/operands/derivative_sums.hpp"
#include "cxx/operands/panel_adjoint.hpp"
#include "tce_tiles/dense/dense_source.hpp"

namespace trifuse {

namespace {

std::string name_of_fock(Spin spin, bool restricted) {
  return restricted ? "fock_ov" : spin == Spin::alpha ? "fock_ov_a" : "fock_ov_b";
}

/// Calls `body(part)` for the parts of an array, on several threads, which provide the pages of its memory.
template <typename Body>
void for_parts(std::size_t size, int threads, Body body) {
  constexpr std::size_t part = std::size_t{1} << 20;  // elements
  share_in_turns((size + part - 1) / part, threads,
                 [&](std::size_t n) { body(n * part, std::min(part, size - n * part)); });
}

}

MadeDerivatives::MadeDerivatives(const Problem& problem, const PanelLayout& layout,
                                 std::shared_ptr<const CompleteSums> operands,
                                 const std::vector<ZeroedVector<std::int64_t>>& sums, int threads)
    : layout_(layout), threads_(threads), sums_(std::move(operands)) {
  using Kinds = std::vector<ArrayKind>;
  const bool factors = problem.right->factors() != nullptr, all = problem.derivatives == Derivatives::all;
  add_side(problem, *problem.right,
           factors ? Kinds{ArrayKind::t2}
           : all   ? Kinds{ArrayKind::t2, ArrayKind::ovov, ArrayKind::ovvv, ArrayKind::ovoo}
                   : Kinds{ArrayKind::t2, ArrayKind::ovov},
           "");
  if (problem.left != nullptr) add_side(problem, *problem.left, {ArrayKind::t2}, of_left_side);
  if (factors && all) made_ = derivatives_by_factors(problem, layout_, *sums_, threads_);
  // Orbital energies are not zero, so check_derivatives() sees each of their derivatives.
  expect_in_range(sums[DerivativeSums::omega2].front());
  for (std::size_t n = DerivativeSums::ov_tensor(0); n < sums.size(); ++n) expect_in_range(std::span(sums[n]));
  add_ov_tensors(problem, sums);
  add_energies(sums[DerivativeSums::energies], sums[DerivativeSums::omega2].front());
  list_arrays();
}

void MadeDerivatives::add_side(const Problem& problem, const TileSource& source, const std::vector<ArrayKind>& kinds,
                               const std::string& prefix) {
  OfSide side{{}, DenseAdjoint(*dense_input_of(source), layout_.tiles(), kinds)};
  for (PanelBlocks::Use& use : PanelBlocks(layout_).uses(problem)) {
    if (use.source == &source) side.uses.push_back(std::move(use));
  }
  for (const DenseAdjoint::Array& array : side.adjoint.arrays())
    sources_.emplace(prefix + array.spec.name, Source{sides_.size(), array});
  sides_.push_back(std::move(side));
}

template <typename Name>
void MadeDerivatives::add_ov(std::span<const std::int64_t> sums, double factor, Name name) {
  const TileSpace& space = layout_.tiles();
  const auto orbitals = static_cast<std::size_t>(space.orbitals());
  for (const Spin spin : {Spin::alpha, Spin::beta})
    add_array(name(spin), {space.orbitals(hole_class(spin)), space.orbitals(particle_class(spin))});
  for (int h = 0; h < space.hole_tiles(); ++h) {
    for (int p = space.hole_tiles(); p < space.size(); ++p) {
      if (space[h].spin() != space[p].spin()) continue;
      DerivativeArray& array = made_.at(name(space[h].spin()));
      for (std::int64_t i = 0; i < space[h].size; ++i) {
        for (std::int64_t a = 0; a < space[p].size; ++a) {
          const auto from =
              static_cast<std::size_t>(space[h].offset + i) * orbitals + static_cast<std::size_t>(space[p].offset + a);
          const std::int64_t to = (space.offset_in_class(h) + i) * array.shape[1] + space.offset_in_class(p) + a;
          array.values[static_cast<std::size_t>(to)] += factor * static_cast<double>(sums[from]);
        }
      }
    }
  }
}

void MadeDerivatives::add_ov_tensors(const Problem& problem, std::span<const ZeroedVector<std::int64_t>> sums) {
  const bool restricted = layout_.tiles().restricted();
  for (int set = 0; set < problem.sets_end(0); ++set) {
    const DisconnectedSet& of = problem.disconnected_set(set).set;
    const auto name = [&](Spin spin) {
      if (of.ov == OvTensor::f_ov) return name_of_fock(spin, restricted);
      return (problem.left != nullptr ? of_left_side : "") + array_spec(ArrayKind::t1, restricted, spin, spin).name;
    };
    // dE/dX = weight dE/d(weight X)
    add_ov(sums[DerivativeSums::ov_tensor(static_cast<std::size_t>(set))], unit_of_operands * of.weight, name);
  }
}

void MadeDerivatives::add_energies(std::span<const std::int64_t> energies, std::int64_t omega2) {
  const TileSpace& space = layout_.tiles();
  const auto name = [&](OrbitalClass c) { return class_dataset("eps", c, space.restricted()); };
  for (const OrbitalClass c : orbital_classes) add_array(name(c), {space.orbitals(c)});
  for (int t = 0; t < space.size(); ++t) {
    DerivativeArray& array = made_.at(name(space[t].orbital_class));
    for (std::int64_t p = 0; p < space[t].size; ++p) {
      array.values[static_cast<std::size_t>(space.offset_in_class(t) + p)] +=
          unit_of_energies * static_cast<double>(energies[static_cast<std::size_t>(space[t].offset + p)]);
    }
  }
  made_["omega2"] = {{}, {unit_of_energies * static_cast<double>(omega2)}};
}

void MadeDerivatives::add_array(const std::string& name, const std::vector<std::int64_t>& shape) {
  made_.try_emplace(name,
                    DerivativeArray{shape, ZeroedVector<double>(static_cast<std::size_t>(Array{name, shape}.size()))});
}

void MadeDerivatives::list_arrays() {
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const auto& [name, array] : made_) shapes[name] = array.shape;
  for (const auto& [name, source] : sources_) shapes[name].assign(source.array.shape.begin(), source.array.shape.end());
  std::vector<Array> arrays;
  for (auto& [name, shape] : shapes) arrays.push_back({name, std::move(shape)});
  set_list(std::move(arrays));
}

void MadeDerivatives::free_sums() {
  for (const auto& [name, source] : sources_) {
    const auto& shape = source.array.shape;
    add_array(name, {shape.begin(), shape.end()});
    make_slice(source, {0, shape[0]}, made_.at(name).values);
  }
  sources_.clear();
  sums_ = nullptr;
}

void MadeDerivatives::copy_numbers(std::span<const double> from, std::span<double> to) const {
  for_parts(to.size(), threads_,
            [&](std::size_t begin, std::size_t count) { std::copy_n(from.data() + begin, count, to.data() + begin); });
}

void MadeDerivatives::make(std::size_t index, std::int64_t first, std::int64_t count, std::span<double> values) const {
  static_cast<void>(startable_threads(threads_));  // refuses processes that have lost their threads
  const std::string& name = list()[index].name;
  const auto begin = values.size() / static_cast<std::size_t>(count) * static_cast<std::size_t>(first);
  if (const auto found = made_.find(name); found != made_.end()) {
    copy_numbers(std::span(found->second.values).subspan(begin, values.size()), values);
    return;
  }
  const Source& source = sources_.at(name);
  const std::int64_t all = source.array.shape[0];
  if (count == all || sides_[source.side].adjoint.makes_slices(source.array)) {
    make_slice(source, {first, count}, values);
    return;
  }
  const std::lock_guard lock(mutex_);
  if (whole_.name != name) {
    whole_ = {};  // frees its memory before
    whole_.values =
        ZeroedVector<double>(values.size() / static_cast<std::size_t>(count) * static_cast<std::size_t>(all));
    make_slice(source, {0, all}, whole_.values);
    whole_.name = name;
  }
  copy_numbers(std::span(whole_.values).subspan(begin, values.size()), values);
}

void MadeDerivatives::make_slice(const Source& source, const ArraySlice& slice, std::span<double> values) const {
  struct Part {
    const PanelBlocks::Use& use;
    PanelBlocks::BlockTiles tiles;
    BlockPart part;
    DenseAdjoint::Box box;
  };
  const auto& [uses, adjoint] = sides_[source.side];
  const PanelBlocks blocks(layout_);
  const TileSpace& space = layout_.tiles();
  std::map<std::array<std::int64_t, 4>, std::vector<Part>> parts;  // by the begin of the box
  for (const PanelBlocks::Use& use : uses) {
    for (const auto& tiles : blocks.list(use, space)) {
      for (const BlockPart& part : adjoint.parts(source.array, use.tensor, tiles)) {
        if (const auto box = adjoint.box(part, tiles, slice)) parts[box->begin].push_back({use, tiles, part, *box});
      }
    }
  }
  std::vector<const std::vector<Part>*> boxes;
  std::size_t elements_of_boxes = 0;
  for (const auto& [begin, of_box] : parts) {
    boxes.push_back(&of_box);
    elements_of_boxes += of_box.front().box.elements();
  }
  if (elements_of_boxes < values.size()) {  // the others are zero by symmetry, or no task reads them
    for_parts(values.size(), threads_,
              [&](std::size_t begin, std::size_t count) { std::fill_n(values.data() + begin, count, 0.0); });
  }
  // One thread adds up a box, in the order of the blocks, so the bits do not depend on the threads.
  share_among_threads<std::vector<double>>(boxes.size(), threads_, [&](std::size_t n, std::vector<double>& sums) {
    const std::vector<Part>& of_box = *boxes[n];
    const DenseAdjoint::Box& whole = of_box.front().box;
    sums.assign(whole.elements(), 0.0);
    for (const Part& one : of_box) {
      PanelBlocks::BlockShape shape = blocks.shape_of(space, one.tiles);
      for (std::size_t d = 0; d < 4; ++d) shape.offset[d] += one.box.begin_in_block[d];
      shape.size = one.box.size_in_block;
      read_block(blocks, one.use, shape, *sums_,
                 [&](std::span<const double> elements) { DenseAdjoint::add(one.part, one.box, elements, sums); });
    }
    DenseAdjoint::write(source.array, whole, sums, unit_of_operands, values);
  });
  adjoint.project(source.array, slice, values, threads_);
}

}
