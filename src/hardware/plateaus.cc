#include "hardware/plateaus.h"

#include <cmath>

#include "hardware/timing.h"

namespace headrace::hardware {
namespace {

constexpr double kLevelGrowth = 1.4;  // per doubling of the size
constexpr double kSameLevel = 1.5;
constexpr double kStillFits = 1.25;

bool is_level(const LatencyPoint& from, const LatencyPoint& to) {
  const double doublings = std::log2(static_cast<double>(to.bytes) / static_cast<double>(from.bytes));
  return to.seconds < from.seconds * std::pow(kLevelGrowth, doublings);
}

double median_latency(std::span<const LatencyPoint> points) {
  std::vector<double> seconds;
  for (const LatencyPoint& point : points) seconds.push_back(point.seconds);
  return median(std::move(seconds));
}

}  // namespace

std::vector<Plateau> find_plateaus(std::span<const LatencyPoint> curve) {
  std::vector<Plateau> plateaus;
  for (size_t begin = 0; begin + 1 < curve.size();) {
    size_t end = begin + 1;
    while (end < curve.size() && is_level(curve[end - 1], curve[end])) ++end;
    if (end - begin >= 2) {
      const double seconds = median_latency(curve.subspan(begin, end - begin));
      while (end < curve.size() && curve[end].seconds <= kStillFits * seconds) ++end;
      if (!plateaus.empty() && seconds < kSameLevel * plateaus.back().seconds)
        plateaus.back().largest_bytes = curve[end - 1].bytes;
      else
        plateaus.push_back({curve[end - 1].bytes, seconds});
    }
    begin = end;
  }
  return plateaus;
}

}  // namespace headrace::hardware
