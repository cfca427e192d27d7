// Borders and sums over neighbouring channels on the plug-in's GPUs, beside the host.
#include <gtest/gtest.h>

#include "tests/cuda/beside_host.h"

namespace headrace {
namespace {

using Operands = std::vector<NDArray>;

NDArray result_of(const char* op, const Operands& inputs, std::initializer_list<NamedAttr> attrs) {
  return invoke_all(find_op(op), attrs_of(find_op(op), attrs), inputs)[0];
}

TEST(CudaBordersSlow, NeighbouringChannels) {
  for (const DType dtype : kRealDTypes)
    for (const int64_t nsize : {1, 4, 5, 30})
      expect_as_on_host({varied({2, 7, 3, 2}, dtype, 102)}, [&](const Operands& in) {
        return result_of("_channel_window_sum", in, {{"nsize", nsize}});
      });
}

TEST(CudaBordersSlow, Borders) {
  const Shape width{0, 0, 3, 1, 0, 4};
  for (const char* mode : {"constant", "edge", "reflect", "symmetric", "wrap"}) {
    for (const DType dtype : kAllDTypes)
      expect_as_on_host({varied({2, 3, 4}, dtype, 99)}, [&](const Operands& in) {
        return result_of("_pad", in, {{"pad_width", width}, {"mode", std::string(mode)}, {"constant_values", 2.0}});
      });
    if (mode == std::string("constant")) continue;
    for (const DType dtype : kRealDTypes)
      for (const Shape& shape : {Shape{2, 7, 8}, Shape{2, 5, 5}})
        expect_as_on_host({varied(shape, dtype, 100)}, [&](const Operands& in) {
          return result_of("_pad_back", in, {{"pad_width", width}, {"mode", std::string(mode)}});
        });
  }
}

}  // namespace
}  // namespace headrace
