#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trifuse::cli {

/// Every finished drawing begins with this line. It distinguishes drawings of Trifuse from other files.
constexpr std::string_view svg_beginning = "<!-- drawn by trifuse plan -->\n";

/// A drawing that is not finished. Coordinates are in pixels; y points down.
class Svg {
 public:
  /// `width`, `height`: size of the drawing, pixels.
  Svg(double width, double height) : width_(width), height_(height) {}
  /// Adds a shape. Coordinates, radius and widths are in pixels. `color`: an SVG color, e.g. "#2a6fb0".
  void line(double x1, double y1, double x2, double y2, const char* color, double width = 1.0, bool dashed = false);
  void polyline(const std::vector<std::pair<double, double>>& points, const char* color);
  void rectangle(double x, double y, double width, double height, const char* color);
  void circle(double x, double y, double radius, const char* color);
  enum class Anchor { start, middle, end };  ///< which point of a text is at (x, y)
  /// Adds a text. The text may contain any characters, which are escaped. `size`: font size, pixels. `turned`: true if
  /// the text runs upwards.
  void text(double x, double y, const std::string& text, Anchor anchor = Anchor::start, int size = 12,
            bool turned = false);
  /// The complete drawing as SVG text.
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
  bool joined = true;   ///< true if lines connect the points
  bool dashed = false;  ///< true for a dashed line without points
  std::vector<CurvePoint> points;
};
/// Draws curves over logarithmic axes. All values must be above 0.
std::string log_plot(const std::string& title, const std::string& x_title, const std::string& y_title,
                     const std::vector<Curve>& curves);

struct TimelineSpan {
  int lane;           ///< number of the lane, from 0 at the top
  double begin, end;  ///< seconds
  bool thin;          ///< true: a thin bar at the lower edge of the lane; false: a thick bar
};
/// Draws what each lane does during a time of `seconds`. `lanes`: names of the lanes. `thick_name`, `thin_name`:
/// meanings of the thick and the thin bars. Spans less than half a pixel apart are drawn as one.
std::string timeline_plot(const std::string& title, double seconds, const std::vector<std::string>& lanes,
                          std::vector<TimelineSpan> spans, const std::string& thick_name, const std::string& thin_name);

}  // namespace trifuse::cli
