#pragma once

#include <string>
#include <string_view>

#include "cxx/prediction/simulation.hpp"

namespace trifuse::cli {

/// Every trace begins with this text. It distinguishes traces of Trifuse from other files.
constexpr std::string_view trace_beginning = R"({"program":"trifuse","report":"trace")";

/// Returns the timeline of a simulated run as JSON in the format of Chrome's trace viewer, which ui.perfetto.dev reads:
/// one process for each recorded GPU, with one row for kernels and one for copies of panels; times in microseconds.
/// Spans of a row become one event if they are less than 1/20000 of the whole time apart. `gpu_model`: name of the
/// GPUs.
std::string trace_of(const Simulation& tasks, std::string_view gpu_model);

}
