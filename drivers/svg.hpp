#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trifuse::cli {

/// Every finished drawing begins so, and can be told from other files by it.
constexpr std::string_view svg_beginning = "<!-- drawn by trifuse plan -->\n";

/// A drawing in the making, in pixels, y downwards.
class Svg {
 public:
  Svg(double width, double height) : width_(width), height_(height) {}
  void line(double x1, double y1, double x2, double y2, const char* color, double width = 1.0, bool dashed = false);
  void polyline(const std::vector<std::pair<double, double>>& points, const char* color);
  void rectangle(double x, double y, double width, double height, const char* color);
  void circle(double x, double y, double radius, const char* color);
  enum class Anchor { start, middle, end };
  /// Any text: it is escaped. `turned`: upwards.
  void text(double x, double y, const std::string& text, Anchor anchor = Anchor::start, int size = 12,
            bool turned = false);
  std::string finished() const;

 private:
  double width_, height_;
  std::string body_;
};

struct CurvePoint {
  double x, y;
};
struct Curve {
  std::string name;
  const char* color;
  bool joined = true;  ///< by a line; else points only
  bool dashed = false;
  std::vector<CurvePoint> points;
};
/// Curves over logarithmic axes. Values must be above 0.
std::string log_plot(const std::string& title, const std::string& x_title, const std::string& y_title,
                     const std::vector<Curve>& curves);

struct TimelineSpan {
  int lane;
  double begin, end;  ///< seconds
  bool thin;          ///< at the lower edge of the lane
};
/// What each lane does when. Spans that are not a pixel apart are drawn as one.
std::string timeline_plot(const std::string& title, double seconds, const std::vector<std::string>& lanes,
                          std::vector<TimelineSpan> spans, const std::string& thick_name, const std::string& thin_name);

}  // namespace trifuse::cli
