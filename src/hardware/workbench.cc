#include "hardware/workbench.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/machine.h"
#include "hardware/chase.h"
#include "hardware/inversions.h"
#include "hardware/probes.h"

namespace headrace::hardware {
namespace {

constexpr size_t kLeastCurveBytes = size_t{4} << 10, kMostCurveBytes = size_t{256} << 20;

}  // namespace

Workbench::Workbench(Options options)
    : options_(std::move(options)), numbers_(allowed_processors()), processors_(read_processors(numbers_)) {}

std::span<std::byte> Workbench::memory(size_t bytes) {
  if (region_.bytes().size() < bytes) {
    const size_t available = static_cast<size_t>(available_memory()) + region_.bytes().size();
    if (bytes > available / 2)
      throw NotMeasured(fmt::format("needs {} MiB of memory, and half of the {} MiB that are free is less", bytes >> 20,
                                    available >> 20));
    region_ = Region();
    region_ = Region(bytes);
    // Before it is written, memory is one page of zeros, seen many times.
    run_on_first(*this, [&] { std::ranges::fill(region_.bytes(), std::byte{1}); });
  }
  return region_.bytes().first(bytes);
}

std::span<const LatencyPoint> Workbench::curve() {
  if (!curve_.empty()) return curve_;
  size_t most = kMostCurveBytes;
  while (most > kLeastCurveBytes && std::cmp_greater(most, available_memory() / 2)) most /= 2;
  const std::span<std::byte> all = memory(most);
  const double step = quick() ? 2 : 1.4142135623730951;
  std::vector<LatencyPoint> points;
  const auto measure = [&](size_t bytes) { return chase_seconds(all.first(bytes), effort()); };
  run_on_first(*this, [&] {
    for (auto size = static_cast<double>(kLeastCurveBytes); size < static_cast<double>(most) * 1.01; size *= step) {
      const size_t bytes = std::min(most, static_cast<size_t>(size) / kLineBytes * kLineBytes);
      points.push_back({bytes, measure(bytes)});
    }
    repeated_points_ = repeat_inversions(points, measure);
  });
  curve_ = std::move(points);
  return curve_;
}

DiskFile& Workbench::disk_file() {
  if (!disk_file_) {
    const std::string directory =
        options_.directory.empty() ? std::filesystem::temp_directory_path().string() : options_.directory;
    disk_file_ = std::make_unique<DiskFile>(directory, size_t{quick() ? 16u : 128u} << 20);
  }
  return *disk_file_;
}

}  // namespace headrace::hardware
