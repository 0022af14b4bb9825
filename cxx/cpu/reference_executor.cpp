#include "cxx/cpu/reference_executor.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>

#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/operands/derivative_sums.hpp"
#include "cxx/operands/panel_blocks.hpp"
#include "cxx/plan/task_results.hpp"
#include "cxx/plan/task_sums.hpp"
#include "cxx/triples/reference.hpp"
#include "cxx/triples/reference_derivatives.hpp"

namespace trifuse {

namespace {

/// Adds reference derivatives to the sums of a run. Each number goes to one of the places where it stands in panels.
class AddedToSums {
 public:
  AddedToSums(const Problem& problem, const PanelLayout& layout, const ReferenceDerivatives& derivatives,
              TaskSums& sums)
      : problem_(problem), layout_(layout), derivatives_(derivatives), sums_(sums) {
    for (const PanelBlocks::Use& use : blocks_of_.uses(problem)) {
      for (const PanelBlocks::BlockTiles& tiles :
           blocks_of_.list(use, layout.tiles(), [](const PanelBlocks::BlockShape&) { return true; }))
        add_block(use, tiles);
    }
    for (const OvTensor tensor : {OvTensor::t1, OvTensor::f_ov}) add_ov_tensor(tensor);
    sums.add(DerivativeSums::energies, 0, derivatives.of_energies());
    const double of_omega2 = derivatives.of_omega2();
    sums.add(DerivativeSums::omega2, 0, {&of_omega2, 1});
  }

 private:
  void add(std::size_t array, std::int64_t at, double value) {
    sums_.add(array, static_cast<std::size_t>(at), {&value, 1});
  }
  void add_block(const PanelBlocks::Use& use, const PanelBlocks::BlockTiles& tiles) {
    blocks_of_.for_each_piece(blocks_of_.shape_of(layout_.tiles(), tiles), use, [&](const PanelBlocks::Piece& piece) {
      const auto& [n0, n1, n2, n3] = piece.extent;
      for (std::int64_t w = 0; w < n0; ++w)
        for (std::int64_t x = 0; x < n1; ++x)
          for (std::int64_t y = 0; y < n2; ++y)
            for (std::int64_t z = 0; z < n3; ++z) add_element(use, tiles, piece, {w, x, y, z});
    });
  }
  /// `at`: indices of the element in the piece.
  void add_element(const PanelBlocks::Use& use, const PanelBlocks::BlockTiles& tiles, const PanelBlocks::Piece& piece,
                   const std::array<std::int64_t, 4>& at) {
    std::int64_t in_block = piece.in_block, in_panel = piece.panel.begin + piece.in_panel;
    for (std::size_t d = 0; d < 4; ++d) {
      in_block += at[d] * piece.from[d];
      in_panel += at[d] * piece.to[d];
    }
    std::array<std::int64_t, 4> orbitals{};
    for (std::size_t d = 4; d-- > 0;) {
      const Tile& tile = layout_.tiles()[tiles[d]];
      orbitals[d] = tile.offset + in_block % tile.size;
      in_block /= tile.size;
    }
    if (!added_.emplace(use.source, use.tensor, orbitals).second) return;
    add(DerivativeSums::operands, in_panel,
        piece.sign * derivatives_.of_block(*use.source, use.tensor, tiles, orbitals));
  }
  /// Adds the derivatives to the first set with this tensor, which contains the tensor times the weight of the set.
  void add_ov_tensor(OvTensor tensor) {
    const std::vector<DisconnectedSet> sets = problem_.sets();
    const auto found =
        std::find_if(sets.begin(), sets.end(), [&](const DisconnectedSet& set) { return set.ov == tensor; });
    if (found == sets.end()) return;
    const std::vector<double>& values = derivatives_.of(problem_.two_sided() ? Side::left : Side::right).ov(tensor);
    const std::int64_t n = layout_.tiles().orbitals();
    const auto array = DerivativeSums::ov_tensor(static_cast<std::size_t>(found - sets.begin()));
    for (std::int64_t p = 0; p < n; ++p)
      for (std::int64_t h = 0; h < n; ++h)
        add(array, h * n + p, values[static_cast<std::size_t>(p * n + h)] / found->weight);
  }

  const Problem& problem_;
  const PanelLayout& layout_;
  const PanelBlocks blocks_of_{layout_};
  const ReferenceDerivatives& derivatives_;
  TaskSums& sums_;
  std::set<std::tuple<const TileSource*, TensorKind, std::array<std::int64_t, 4>>> added_;
};

class ReferenceExecutor final : public Executor {
 public:
  ReferenceExecutor(const Problem& problem, const TileSpace& tiles)
      : problem_(problem), tiles_(tiles), evaluation_(problem, tiles), omega2_count_(problem.quotients.size()) {
    if (problem.derivatives != Derivatives::none) derivatives_.emplace(problem, tiles);
  }

  std::string name() const override { return "reference"; }

  std::unique_ptr<Worker> make_worker() const override {
    class ReferenceWorker final : public Worker {
     public:
      explicit ReferenceWorker(const ReferenceExecutor& executor) : executor_(executor) {}
      void execute(std::span<const Task> tasks, const TaskResults& results) override {
        const std::span<TaskEnergy> energies = results.energies;
        const std::size_t count = executor_.omega2_count_;
        for (std::size_t n = 0; n < tasks.size(); ++n) {
          executor_.evaluation_.evaluate(tasks[n], energies.subspan(n * count, count));
        }
        if (results.sums == nullptr || !executor_.derivatives_) return;
        const std::lock_guard lock(executor_.mutex_);
        for (const Task& task : tasks) executor_.derivatives_->add(task);
      }

     private:
      const ReferenceExecutor& executor_;
    };
    return std::make_unique<ReferenceWorker>(*this);
  }
  bool keeps_sums() const override { return derivatives_.has_value(); }
  void move_sums_to(TaskSums& sums) const override {
    if (!derivatives_) return;
    AddedToSums(problem_, layout_of_derivatives(problem_, cpu_panel_tiles(tiles_)), *derivatives_, sums);
    derivatives_.emplace(problem_, tiles_);
  }

 private:
  const Problem problem_;
  const TileSpace tiles_;
  ReferenceEvaluation evaluation_;
  std::size_t omega2_count_;
  mutable std::mutex mutex_;  ///< guards the next member
  /// Of the tasks since move_sums_to(); nullopt without derivatives.
  mutable std::optional<ReferenceDerivatives> derivatives_;
};

}

std::unique_ptr<Executor> make_reference_executor(const Problem& problem, const TileSpace& tiles) {
  return std::make_unique<ReferenceExecutor>(problem, tiles);
}

}
