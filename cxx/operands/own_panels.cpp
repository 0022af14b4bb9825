#include "cxx/operands/own_panels.hpp"

#include <algorithm>

#include "cxx/base/share_among_threads.hpp"
#include "cxx/base/threads.hpp"
#include "cxx/operands/cached_panels.hpp"

namespace trifuse {

OwnPanels::OwnPanels(const PanelLayout& layout, int rank) : layout_(layout), memory_(layout.sections().size()) {
  const std::span<const PanelSection> all = layout.sections();
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (all[n].rank != rank) continue;
    if (sections_.empty()) begin_ = all[n].begin;
    end_ = all[n].end;
    sections_.push_back(n);
  }
}

double* OwnPanels::data(const PanelExtent& extent) const {
  const std::size_t section = layout_.section_of(extent);
  return memory_[section] + (extent.begin - layout_.sections()[section].begin);
}

void OwnPanels::set_to_zero() const {
  std::vector<std::span<double>> spans;
  for (const std::size_t n : sections_) {
    const PanelSection& section = layout_.sections()[n];
    spans.emplace_back(memory_[n], static_cast<std::size_t>(section.end - section.begin + vector_margin));
  }
  // If all threads write, the pages are spread over the memory of all processors. The threads work on all spans at the
  // same time, because the spans may lie in separate files of shared memory.
  constexpr std::size_t at_once = std::size_t{1} << 18;
  std::size_t longest = 0;
  for (const std::span<double>& span : spans) longest = std::max(longest, span.size());
  const std::size_t steps = (longest + at_once - 1) / at_once;
  share_in_turns(steps * spans.size(), available_threads(), [&](std::size_t n) {
    const std::span<double> span = spans[n % spans.size()];
    const std::size_t begin = std::min(span.size(), n / spans.size() * at_once);
    const std::size_t count = std::min(at_once, span.size() - begin);
    std::fill_n(span.data() + begin, count, 0.0);
  });
}

}
