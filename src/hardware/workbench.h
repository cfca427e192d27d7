// What the measurements of one session share: how much effort to spend, where to measure, and what is dear to make.
// For one thread at a time.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "hardware/disk_file.h"
#include "hardware/region.h"
#include "hardware/timing.h"
#include "hardware/topology.h"
#include "headrace/hardware.hpp"

namespace headrace::hardware {

class Workbench {
 public:
  explicit Workbench(Options options);

  bool quick() const noexcept { return options_.quick; }
  Effort effort() const noexcept { return quick() ? Effort{0.002, 3} : Effort{0.015, 9}; }

  // The processors that the process may use, at least one.
  std::span<const Processor> processors() const noexcept { return processors_; }
  std::span<const int> numbers() const noexcept { return numbers_; }
  std::span<const int> first() const noexcept { return numbers().first(1); }

  // The same memory each time, larger when needed, written by the first processor. Throws NotMeasured when that would
  // take more than half of what is available.
  std::span<std::byte> memory(size_t bytes);

  // Latencies from 4 KiB to 256 MiB, less where memory is short; measured when first asked for.
  std::span<const LatencyPoint> curve();
  std::span<const LatencyPoint> known_curve() const noexcept { return curve_; }
  // How many of them were measured again, because a larger memory had been faster.
  int repeated_points() const noexcept { return repeated_points_; }

  // Written when first asked for. Throws NotMeasured or Error saying why there is none.
  DiskFile& disk_file();

 private:
  const Options options_;
  const std::vector<int> numbers_;
  const std::vector<Processor> processors_;
  Region region_;
  std::vector<LatencyPoint> curve_;
  int repeated_points_ = 0;
  std::unique_ptr<DiskFile> disk_file_;
};

// On the first processor, in a thread that stays there.
template <class Body>
void run_on_first(const Workbench& bench, Body body) {
  run_on(bench.first(), [&](size_t) { body(); });
}

}  // namespace headrace::hardware
