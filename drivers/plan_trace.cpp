#include "drivers/plan_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <vector>

#include "trifuse_config.hpp"

namespace trifuse::cli {

namespace {

constexpr double resolution = 5e-5;  // of the whole time
constexpr double microseconds = 1e6;

/// Returns the spans in the order of their rows and times. Spans that nearly touch are joined.
std::vector<Simulation::Span> joined_spans(const Simulation& tasks) {
  std::vector<Simulation::Span> spans = tasks.spans;
  std::sort(spans.begin(), spans.end(), [](const Simulation::Span& p, const Simulation::Span& q) {
    return std::tie(p.gpu, p.copy, p.begin) < std::tie(q.gpu, q.copy, q.begin);
  });
  std::vector<Simulation::Span> joined;
  for (const Simulation::Span& span : spans) {
    if (!joined.empty() && joined.back().gpu == span.gpu && joined.back().copy == span.copy &&
        span.begin - joined.back().end < resolution * tasks.seconds) {
      joined.back().end = std::max(joined.back().end, span.end);
    } else {
      joined.push_back(span);
    }
  }
  return joined;
}

}

std::string trace_of(const Simulation& tasks, std::string_view gpu_model) {
  std::string text = fmt::format(
      R"({},"version":"{}","displayTimeUnit":"ms","otherData":{{"gpu_model":"{}","gpus":{},"seconds":{},"efficiency":{}}},)"
      "\n\"traceEvents\":[",
      trace_beginning, version, gpu_model, tasks.gpus, tasks.seconds, tasks.efficiency());
  const auto out = std::back_inserter(text);
  const char* separator = "\n";
  for (const int gpu : tasks.lanes) {
    fmt::format_to(out, R"({}{{"name":"process_name","ph":"M","pid":{},"args":{{"name":"GPU {}"}}}})", separator, gpu,
                   gpu);
    separator = ",\n";
    for (const int row : {0, 1}) {
      fmt::format_to(out, R"({}{{"name":"thread_name","ph":"M","pid":{},"tid":{},"args":{{"name":"{}"}}}})", separator,
                     gpu, row, row == 0 ? "kernels" : "copies of panels");
    }
  }
  for (const Simulation::Span& span : joined_spans(tasks)) {
    fmt::format_to(out, R"({}{{"name":"{}","ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f}}})", separator,
                   span.copy ? "copy" : "kernel", span.gpu, span.copy ? 1 : 0, span.begin * microseconds,
                   (span.end - span.begin) * microseconds);
  }
  return text + "\n]}\n";
}

}
