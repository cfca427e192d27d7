#include <gtest/gtest.h>

#include "device/cores.h"
#include "device/registry.h"
#include "headrace/error.hpp"

namespace headrace {
namespace {

TEST(Registry, HostDevicesShareOneAllocator) {
  Allocator& first = allocator_of({DeviceType::kCpu, 0});
  EXPECT_EQ(&first, &allocator_of({DeviceType::kCpu, 7}));
  EXPECT_EQ(&first, &allocator_of({DeviceType::kCpuPinned, 0}));
}

TEST(Registry, UnknownDevicesAreNamed) {
  for (Device device : {Device{DeviceType::kGpu, 3}, Device{DeviceType::kCpu, -1}, Device{DeviceType(99), 0}}) {
    try {
      allocator_of(device);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kRuntime);
      EXPECT_NE(std::string(error.what()).find(to_string(device)), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(device_count(DeviceType::kGpu), 0);
}

TEST(Cores, BusyThreadsAndWideLoopsLeaveFewerIdle) {
  const int all = idle_cores();
  EXPECT_GE(all, 1);
  EXPECT_FALSE(wide_loop_runs());
  {
    BusyThread busy;
    BusyThread nested;
    EXPECT_EQ(idle_cores(), all);  // the calling thread's own core is free for itself
    WideLoop loop(2);
    EXPECT_TRUE(wide_loop_runs());
    EXPECT_EQ(idle_cores(), std::max(1, all - 1));
  }
  EXPECT_EQ(idle_cores(), all);
  EXPECT_FALSE(wide_loop_runs());
}

}  // namespace
}  // namespace headrace
