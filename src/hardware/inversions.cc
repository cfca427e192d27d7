#include "hardware/inversions.h"

#include <algorithm>
#include <limits>

namespace headrace::hardware {
namespace {

constexpr int kMostRounds = 3;
constexpr double kPrecision = 1.05;

}  // namespace

int repeat_inversions(std::vector<LatencyPoint>& curve, const std::function<double(size_t)>& measure) {
  std::vector<bool> repeated(curve.size());
  for (int round = 0; round < kMostRounds; ++round) {
    double least_of_larger = std::numeric_limits<double>::infinity();
    bool found = false;
    for (size_t i = curve.size(); i-- > 0;) {
      LatencyPoint& point = curve[i];
      if (point.seconds > least_of_larger * kPrecision) {
        point.seconds = std::min(point.seconds, measure(point.bytes));
        repeated[i] = found = true;
      }
      least_of_larger = std::min(least_of_larger, point.seconds);
    }
    if (!found) break;
  }
  return static_cast<int>(std::ranges::count(repeated, true));
}

}  // namespace headrace::hardware
