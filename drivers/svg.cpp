#include "drivers/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "cxx/base/printable.hpp"

namespace trifuse::cli {

namespace {

constexpr const char* axis_color = "#444444";
constexpr const char* grid_color = "#dddddd";
constexpr double left = 80.0, right = 30.0, top = 40.0, bottom = 60.0;

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

/// A logarithmic axis from one power of ten to another.
struct LogAxis {
  int first = 0, last = 1;
  double from = 0.0, to = 1.0;  ///< ends of the axis, pixels

  void cover(double least, double most) {
    first = static_cast<int>(std::floor(std::log10(least) + 1e-9));
    last = std::max(first + 1, static_cast<int>(std::ceil(std::log10(most) - 1e-9)));
  }
  double at(double value) const { return from + (std::log10(value) - first) / (last - first) * (to - from); }
};

/// The distance of marks on a linear axis: 1, 2 or 5 times a power of ten, so that there are five to ten steps.
double step_of(double range) {
  const double decade = std::pow(10.0, std::floor(std::log10(range / 5.0)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (range / (factor * decade) <= 10.0) return factor * decade;
  }
  return 10.0 * decade;
}

}  // namespace

void Svg::line(double x1, double y1, double x2, double y2, const char* color, double width, bool dashed) {
  body_ += fmt::format(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="{}" stroke-width="{}"{}/>)"
                       "\n",
                       x1, y1, x2, y2, color, width, dashed ? R"( stroke-dasharray="5 4")" : "");
}

void Svg::polyline(const std::vector<std::pair<double, double>>& points, const char* color) {
  body_ += R"(<polyline fill="none" points=")";
  for (const auto& [x, y] : points) body_ += fmt::format("{:.1f},{:.1f} ", x, y);
  body_ += fmt::format(R"(" stroke="{}" stroke-width="2"/>)"
                       "\n",
                       color);
}

void Svg::rectangle(double x, double y, double width, double height, const char* color) {
  body_ += fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="{}"/>)"
                       "\n",
                       x, y, width, height, color);
}

void Svg::circle(double x, double y, double radius, const char* color) {
  body_ += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="{}" fill="{}"/>)"
                       "\n",
                       x, y, radius, color);
}

void Svg::text(double x, double y, const std::string& text, Anchor anchor, int size, bool turned) {
  const char* where = anchor == Anchor::start ? "start" : anchor == Anchor::middle ? "middle" : "end";
  body_ += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}" font-size="{}"{}>{}</text>)"
                       "\n",
                       x, y, where, size,
                       turned ? fmt::format(R"x( transform="rotate(-90 {:.1f} {:.1f})")x", x, y) : "", escaped(text));
}

std::string Svg::finished() const {
  return fmt::format(
      "{3}"
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" font-family="sans-serif">)"
      "\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n{2}</svg>\n",
      width_, height_, body_, svg_beginning);
}

std::string log_plot(const std::string& title, const std::string& x_title, const std::string& y_title,
                     const std::vector<Curve>& curves) {
  constexpr double width = 800.0, height = 520.0;
  Svg svg(width, height);
  double least_x = 1e300, max_x = 0.0, least_y = 1e300, max_y = 0.0;
  for (const Curve& curve : curves) {
    for (const CurvePoint& point : curve.points) {
      least_x = std::min(least_x, point.x);
      max_x = std::max(max_x, point.x);
      least_y = std::min(least_y, point.y);
      max_y = std::max(max_y, point.y);
    }
  }
  LogAxis x, y;
  if (max_x > 0.0) {
    x.cover(least_x, max_x);
    y.cover(least_y, max_y);
  }
  x.from = left;
  x.to = width - right;
  y.from = height - bottom;
  y.to = top;
  for (int decade = x.first; decade <= x.last; ++decade) {
    const double at = x.at(std::pow(10.0, decade));
    svg.line(at, y.from, at, y.to, grid_color);
    svg.text(at, y.from + 18, fmt::format("{:g}", std::pow(10.0, decade)), Svg::Anchor::middle);
  }
  for (int decade = y.first; decade <= y.last; ++decade) {
    const double at = y.at(std::pow(10.0, decade));
    svg.line(x.from, at, x.to, at, grid_color);
    svg.text(x.from - 6, at + 4, fmt::format("{:g}", std::pow(10.0, decade)), Svg::Anchor::end);
  }
  svg.line(x.from, y.from, x.to, y.from, axis_color);
  svg.line(x.from, y.from, x.from, y.to, axis_color);
  svg.text(width / 2, 24, title, Svg::Anchor::middle, 15);
  svg.text((x.from + x.to) / 2, height - 16, x_title, Svg::Anchor::middle);
  svg.text(20, (y.from + y.to) / 2, y_title, Svg::Anchor::middle, 12, true);
  double legend = top + 14;
  for (const Curve& curve : curves) {
    std::vector<std::pair<double, double>> pixels;
    for (const CurvePoint& point : curve.points) pixels.emplace_back(x.at(point.x), y.at(point.y));
    if (curve.dashed) {
      for (std::size_t n = 1; n < pixels.size(); ++n) {
        svg.line(pixels[n - 1].first, pixels[n - 1].second, pixels[n].first, pixels[n].second, curve.color, 1.0, true);
      }
    } else {
      if (curve.joined) svg.polyline(pixels, curve.color);
      for (const auto& [px, py] : pixels) svg.circle(px, py, curve.joined ? 3.0 : 5.0, curve.color);
    }
    svg.line(x.to - 190, legend - 4, x.to - 166, legend - 4, curve.color, 2.0, curve.dashed);
    svg.text(x.to - 160, legend, curve.name);
    legend += 18;
  }
  return svg.finished();
}

std::string timeline_plot(const std::string& title, double seconds, const std::vector<std::string>& lanes,
                          std::vector<TimelineSpan> spans, const std::string& thick_name,
                          const std::string& thin_name) {
  constexpr double width = 1000.0, lane_height = 16.0;
  constexpr const char *thick_color = "#2a6fb0", *thin_color = "#d9822b", *rest_color = "#eeeeee";
  const double end = top + lane_height * static_cast<double>(lanes.size());
  Svg svg(width, end + bottom);
  const double range = std::max(seconds, 1e-9), scale = (width - left - right) / range;
  const auto at = [&](double time) { return left + time * scale; };
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    const double y = top + lane_height * static_cast<double>(lane);
    svg.rectangle(left, y, width - left - right, lane_height - 2, rest_color);
    svg.text(left - 6, y + lane_height - 5, lanes[lane], Svg::Anchor::end, 10);
  }
  std::sort(spans.begin(), spans.end(), [](const TimelineSpan& p, const TimelineSpan& q) {
    return std::tie(p.thin, p.lane, p.begin) < std::tie(q.thin, q.lane, q.begin);
  });
  for (std::size_t n = 0; n < spans.size();) {
    TimelineSpan joined = spans[n++];
    while (n < spans.size() && spans[n].lane == joined.lane && spans[n].thin == joined.thin &&
           (spans[n].begin - joined.end) * scale < 0.5) {
      joined.end = std::max(joined.end, spans[n++].end);
    }
    const double y = top + lane_height * joined.lane, from = at(joined.begin);
    svg.rectangle(from, joined.thin ? y + lane_height - 6 : y, std::max(0.3, at(joined.end) - from),
                  joined.thin ? 4 : lane_height - 6, joined.thin ? thin_color : thick_color);
  }
  const double step = step_of(range);
  for (int n = 0; n * step <= range * (1.0 + 1e-9); ++n) {
    svg.line(at(n * step), end, at(n * step), end + 4, axis_color);
    svg.text(at(n * step), end + 18, fmt::format("{:g}", n * step), Svg::Anchor::middle);
  }
  svg.text((left + width - right) / 2, end + 38, "seconds", Svg::Anchor::middle);
  svg.text(width / 2, 24, title, Svg::Anchor::middle, 15);
  svg.rectangle(left, end + 30, 10, 10, thick_color);
  svg.text(left + 14, end + 39, thick_name, Svg::Anchor::start, 11);
  svg.rectangle(left + 110, end + 30, 10, 10, thin_color);
  svg.text(left + 124, end + 39, thin_name, Svg::Anchor::start, 11);
  return svg.finished();
}

}  // namespace trifuse::cli
