// What profilers of NVIDIA's show of a thread that launches work, beside kernels and copies: the operation that it
// launches, as ranges of NVTX in the domain "headrace". Without a profiler a range is two calls that do nothing.
#pragma once

namespace headrace {

// From construction to destruction. `name` lives as long.
class ProfilerRange {
 public:
  explicit ProfilerRange(const char* name) noexcept;
  ~ProfilerRange();
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;
};

}  // namespace headrace
