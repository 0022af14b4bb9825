#include "cxx/cuda/schedule/panel_source.hpp"

#include <algorithm>
#include <utility>

#include "cxx/base/error.hpp"

namespace trifuse::gpu {

PanelSourceList::PanelSourceList(std::vector<const PanelSource*> sources)
    : sources_(std::move(sources)), produced_(sources_.size()) {}

std::size_t PanelSourceList::choose(const PanelName& name) const {
  const auto found =
      std::find_if(sources_.begin(), sources_.end(), [&](const PanelSource* source) { return source->provides(name); });
  if (found == sources_.end()) throw Error("No source provides a panel that a task needs on the GPU.");
  return static_cast<std::size_t>(found - sources_.begin());
}

bool PanelSourceList::prefetches() const {
  return std::any_of(sources_.begin(), sources_.end(), [](const PanelSource* source) { return source->prefetches(); });
}

void PanelSourceList::count(std::size_t index, std::int64_t bytes, bool owned) {
  ProducedPanels& produced = produced_[index];
  if (!owned) ++produced.panels;
  produced.bytes += bytes;
}

ProducedPanels PanelSourceList::produced_by(const PanelSource& source) const {
  const auto found = std::find(sources_.begin(), sources_.end(), &source);
  return found == sources_.end() ? ProducedPanels{} : produced_[static_cast<std::size_t>(found - sources_.begin())];
}

}
