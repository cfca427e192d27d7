#include <gtest/gtest.h>

#include "op/invoke.h"

namespace headrace {
namespace {

TEST(Creation, FullFillsEveryDtype) {
  for (int i = 0; i < kDTypeCount; ++i) {
    NDArray array = full({3, 5}, 1, static_cast<DType>(i), {});
    EXPECT_EQ(cast_to(array, DType::kFloat64).to_vector<double>(), std::vector<double>(15, 1.0));
  }
}

TEST(Creation, RangesAndEmptyRanges) {
  NDArray down = call("_npi_arange", {}, {{"start", 3.0}, {"stop", 0.0}, {"step", -1.5}});
  EXPECT_EQ(down.to_vector<float>(), (std::vector<float>{3, 1.5}));
  EXPECT_EQ(call("_npi_arange", {}, {{"start", 0.0}}).size(), 0);
}

TEST(Creation, WrongCallsAreRefusedAtOnce) {
  EXPECT_THROW(call("_npi_arange", {}, {{"start", 3.0}, {"step", 0.0}}), Error);
  EXPECT_THROW(call("_npi_zeros", {}, {{"shape", Shape{-1}}}), Error);
  EXPECT_THROW(call("_npi_zeros", {}, {{"shape", Shape{2}}, {"ctx", std::string("cpu(x)")}}), Error);
  EXPECT_THROW(call("_npi_linspace", {}, {{"start", 0.0}, {"stop", 1.0}, {"num", int64_t{-1}}}), Error);
}

TEST(Creation, DevicesAreRead) {
  EXPECT_EQ(parse_device("cpu"), Device{});
  EXPECT_EQ(parse_device("gpu(3)"), (Device{DeviceType::kGpu, 3}));
  for (const char* text : {"", "cpu(", "cpu(1", "cpu(-1)", "cpu(1)x", "tpu(0)"})
    EXPECT_THROW(parse_device(text), Error);
}

}  // namespace
}  // namespace headrace
