#include "drivers/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "cxx/base/clock.hpp"
#include "cxx/base/terminal.hpp"

namespace trifuse::cli {

namespace {

/// Returns a line with a bar that fits into `width` characters. In a narrow terminal the bar gets shorter, and then the
/// least important numbers are left out.
std::string line_of(const RunProgress& progress, double fraction, double rate, const std::string& left,
                    std::size_t width) {
  constexpr std::size_t longest_bar = 30, shortest_bar = 8, around_bar = 3;
  const std::string percent = fmt::format("{:5.1f} %", 100.0 * fraction);
  const std::string tasks = fmt::format("{} of {} tasks", progress.tasks_done, progress.tasks);
  for (const std::string& text :
       {fmt::format("{}  {}  {:.1f} GF/s  {}", percent, tasks, rate * 1e-9, left),
        fmt::format("{}  {}  {}", percent, tasks, left), fmt::format("{}  {}", percent, left)}) {
    if (text.size() + around_bar + shortest_bar > width) continue;
    const std::size_t bar = std::min(longest_bar, width - text.size() - around_bar);
    const auto filled = static_cast<std::size_t>(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(bar));
    return fmt::format("[{}{}] {}", std::string(filled, '#'), std::string(bar - filled, '.'), text);
  }
  return percent;
}

}

std::string duration(double seconds) {
  const auto whole = static_cast<long long>(std::llround(std::max(0.0, seconds)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

StatusLine::StatusLine(bool quiet) : shown_(!quiet && isatty(STDERR_FILENO) != 0) {}

std::size_t StatusLine::width() {
  constexpr std::size_t usual = 80;
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  // Some terminals begin a new line after a character in the last column.
  return (known ? size.ws_col : usual) - 1;
}

void StatusLine::show(std::string_view text) {
  if (!shown_) return;
  print_error("\r\033[K{}", text.substr(0, width()));
  drawn_ = true;
}

void StatusLine::clear() {
  if (drawn_) write_error("\r\033[K");
  drawn_ = false;
}

Progress::Progress(bool quiet) : quiet_(quiet), line_(quiet), start_(wall_seconds()), last_(start_) {}

void Progress::update(const RunProgress& progress) {
  if (quiet_) return;
  if (operations_before_ < 0.0) {
    operations_before_ = progress.operations_done;
    start_ = wall_seconds();
  }
  const double now = wall_seconds();
  const double interval = line_.is_shown() ? 0.2 : 15.0;
  if (now - last_ < interval) return;
  last_ = now;
  const double fraction = progress.operations > 0.0 ? progress.operations_done / progress.operations : 1.0;
  const double done_now = progress.operations_done - operations_before_;
  const double rate = done_now / std::max(1e-9, now - start_);
  const std::string left =
      rate > 0.0 ? duration((progress.operations - progress.operations_done) / rate) + " left" : "";
  if (line_.is_shown()) {
    line_.show(line_of(progress, fraction, rate, left, StatusLine::width()));
    return;
  }
  print_error("{:5.1f} % of the work, {} of {} tasks, {:.1f} GF/s, {}\n", 100.0 * fraction, progress.tasks_done,
              progress.tasks, rate * 1e-9, left);
}

}
