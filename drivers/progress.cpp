#include "drivers/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "cxx/base/clock.hpp"
#include "cxx/base/terminal.hpp"

namespace trifuse::cli {

std::string duration(double seconds) {
  const auto whole = static_cast<long long>(std::llround(std::max(0.0, seconds)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

Progress::Progress(bool quiet)
    : quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0), start_(wall_seconds()), last_(start_) {}

void Progress::update(const RunProgress& progress) {
  if (quiet_) return;
  if (operations_before_ < 0.0) {
    operations_before_ = progress.operations_done;
    start_ = wall_seconds();
  }
  const double now = wall_seconds();
  const double interval = terminal_ ? 0.2 : 15.0;
  if (now - last_ < interval) return;
  last_ = now;
  const double fraction = progress.operations > 0.0 ? progress.operations_done / progress.operations : 1.0;
  const double done_now = progress.operations_done - operations_before_;
  const double rate = done_now / std::max(1e-9, now - start_);
  const std::string left =
      rate > 0.0 ? duration((progress.operations - progress.operations_done) / rate) + " left" : "";
  if (!terminal_) {
    print_error("{:5.1f} % of the work, {} of {} tasks, {:.1f} GF/s, {}\n", 100.0 * fraction, progress.tasks_done,
                progress.tasks, rate * 1e-9, left);
    return;
  }
  constexpr int width = 30;
  const int filled = static_cast<int>(fraction * width);
  print_error("\r\033[K[{:#<{}}{:.<{}}] {:5.1f} %  {} of {} tasks  {:.1f} GF/s  {}", "", filled, "", width - filled,
              100.0 * fraction, progress.tasks_done, progress.tasks, rate * 1e-9, left);
  drawn_ = true;
}

void Progress::finish() {
  if (drawn_) write_error("\r\033[K");
  drawn_ = false;
}

}  // namespace trifuse::cli
