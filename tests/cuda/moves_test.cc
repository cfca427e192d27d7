// Sequences, places named by several index arrays, groups of channels and resized images on the plug-in's GPUs, beside
// the host.
#include <gtest/gtest.h>

#include "headrace/arithmetic.hpp"
#include "tests/cuda/beside_host.h"

namespace headrace {
namespace {

using Operands = std::vector<NDArray>;

NDArray result_of(const char* op, const Operands& inputs, std::initializer_list<NamedAttr> attrs, size_t which = 0) {
  return invoke_all(find_op(op), attrs_of(find_op(op), attrs), inputs)[which];
}

NDArray numbers(std::vector<double> values, const Shape& shape, DType dtype) {
  return cast_to(NDArray::from_host(values.data(), shape, DType::kFloat64), dtype);
}

TEST(CudaMovesSlow, SequencesOfEveryDType) {
  for (const DType dtype : kAllDTypes)
    for (const int64_t axis : {0, 1})
      for (const char* op : {"SequenceMask", "SequenceLast", "SequenceReverse"}) {
        const Shape shape = axis == 0 ? Shape{5, 4, 3} : Shape{4, 5, 3};
        expect_as_on_host({varied(shape, dtype, 80), numbers({3, 0, 5, 9}, {4}, DType::kInt32)},
                          [&](const Operands& in) {
                            return result_of(op, in, {{"use_sequence_length", true}, {"axis", axis}});
                          });
      }
}

TEST(CudaMovesSlow, GradientsOfTheLastSteps) {
  for (const int64_t axis : {0, 1})
    expect_as_on_host({varied({4, 3}, DType::kFloat32, 81), numbers({3, -1, 5, 9}, {4}, DType::kFloat32)},
                      [&](const Operands& in) {
                        return result_of("_backward_SequenceLast", in, {{"axis", axis}, {"length", int64_t{5}}});
                      });
}

TEST(CudaMovesSlow, PlacesThatIndexArraysName) {
  const NDArray rows = numbers({2, 0, -1}, {3, 1}, DType::kInt64), columns = numbers({1, 3}, {2}, DType::kInt32);
  for (const DType dtype : kAllDTypes)
    for (const Shape& axes : {Shape{0, 1}, Shape{1, 2}, Shape{0, 2}})
      expect_as_on_host({varied({4, 5, 4, 3}, dtype, 82), rows, columns}, [&](const Operands& in) {
        return result_of("_advanced_index", in, {{"axes", axes}});
      });
}

// Several indices name one place: sums are in their order, and the last value stays.
TEST(CudaMovesSlow, PlacesThatAreNamedMoreThanOnce) {
  const NDArray first = numbers({2, 0, 2, -1, 2, 3}, {6}, DType::kInt32);
  const NDArray second = numbers({1, 3, 1, 0, -3, 0}, {6}, DType::kInt32);
  for (const DType dtype : kAllDTypes) {
    expect_as_on_host({varied({6, 5}, dtype, 83), first, second}, [](const Operands& in) {
      return result_of("_advanced_index_add", in, {{"axes", Shape{0, 1}}, {"shape", Shape{4, 4, 5}}});
    });
    expect_as_on_host({varied({6, 5}, dtype, 84), first, second}, [](const Operands& in) {
      return result_of("_advanced_index_add", in, {{"axes", Shape{0, 2}}, {"shape", Shape{4, 5, 4}}});
    });
    expect_as_on_host({varied({2, 4, 5}, dtype, 85), varied({1, 6, 1}, dtype, 86), first}, [](const Operands& in) {
      const NDArray target = in[0] + in[0];
      return result_of("_advanced_index_assign", {target, in[1], in[2]}, {{"axes", Shape{1}}});
    });
  }
}

TEST(CudaMovesSlow, CoordinatesInRows) {
  const NDArray places = numbers({0, 2, 2, -1, 1, 3, 3, 0}, {2, 4}, DType::kFloat32);
  const NDArray data = varied({3, 4, 2}, DType::kFloat32, 87), values = varied({4, 2}, DType::kFloat32, 88);
  expect_as_on_host({data, places}, [](const Operands& in) { return result_of("gather_nd", in, {}); });
  for (const char* op : {"scatter_nd", "_backward_gather_nd"})
    expect_as_on_host({values, places}, [&](const Operands& in) {
      return result_of(op, in, {{"shape", Shape{3, 4, 2}}});
    });
  expect_as_on_host({data, values, places}, [](const Operands& in) {
    return result_of("_scatter_set_nd", in, {{"shape", Shape{3, 4, 2}}});
  });
}

TEST(CudaMovesSlow, CoordinatesOutOfBoundsRaise) {
  const NDArray data = as_in_context(varied({3, 4}, DType::kFloat32, 89), kGpu0);
  const NDArray places = as_in_context(numbers({0, 1, 2, 4}, {2, 2}, DType::kInt32), kGpu0);
  const NDArray result = result_of("gather_nd", {data, places}, {});
  try {
    result.wait_to_read();
    FAIL() << "4 is no place along axis 1";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kIndex);
    EXPECT_EQ(std::string(error.what()), "gather_nd: index 4 is out of bounds for axis 1 with size 4");
  }
}

TEST(CudaMovesSlow, GroupsOfChannels) {
  for (const DType dtype : kRealDTypes)
    for (const size_t which : {0, 1, 2}) {
      expect_as_on_host({varied({3, 4, 70, 5}, dtype, 90), varied({2}, dtype, 91), varied({2}, dtype, 92)},
                        [&](const Operands& in) {
                          return result_of("_group_norm", in, {{"num_groups", int64_t{2}}}, which);
                        });
      const NDArray mean = varied({3, 2}, dtype, 95);
      expect_as_on_host({varied({3, 4, 7}, dtype, 93), varied({3, 4, 7}, dtype, 94), varied({2}, dtype, 91), mean},
                        [&](const Operands& in) {
                          const NDArray deviation = result_of("_plus_scalar", {in[3] * in[3]}, {{"scalar", 1.0}});
                          return result_of("_backward_GroupNorm", {in[0], in[1], in[2], in[3], deviation}, {}, which);
                        });
    }
}

TEST(CudaMovesSlow, NeighbouringChannels) {
  for (const DType dtype : kRealDTypes)
    for (const int64_t nsize : {1, 4, 5, 30})
      expect_as_on_host({varied({2, 7, 3, 2}, dtype, 102)}, [&](const Operands& in) {
        return result_of("_channel_window_sum", in, {{"nsize", nsize}});
      });
}

TEST(CudaMovesSlow, ResizedImages) {
  struct Sizes {
    int64_t height, width, out_height, out_width;
  };
  for (const DType dtype : kRealDTypes)
    for (const char* kind : {"mean", "aligned", "centred", "nearest"})
      for (const Sizes& s : {Sizes{5, 7, 9, 4}, Sizes{6, 3, 2, 12}, Sizes{1, 4, 3, 1}})
        for (const bool transposed : {false, true}) {
          const Shape shape{2, transposed ? s.out_height : s.height, transposed ? s.out_width : s.width};
          expect_as_on_host({varied(shape, dtype, 96)}, [&](const Operands& in) {
            return result_of("_resample2d", in,
                             {{"kind", std::string(kind)},
                              {"height", s.height},
                              {"width", s.width},
                              {"out_height", s.out_height},
                              {"out_width", s.out_width},
                              {"transposed", transposed}});
          });
        }
}

TEST(CudaMovesSlow, Borders) {
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

TEST(CudaMovesSlow, PlacesAlongAnAxis) {
  for (const int64_t axis : {0, 1})
    for (const DType dtype : kAllDTypes)
      expect_as_on_host({varied({5, 6}, dtype, 101)}, [&](const Operands& in) {
        const NDArray order = result_of("argsort", in, {{"axis", axis}, {"dtype", DType::kInt32}});
        const NDArray taken = result_of("_take_along_axis", {in[0], order}, {{"axis", axis}});
        return result_of("_put_along_axis", {taken + taken, order}, {{"axis", axis}, {"shape", Shape{5, 6}}});
      });
}

TEST(CudaMovesSlow, Triangles) {
  for (const DType dtype : {DType::kFloat32, DType::kInt8, DType::kFloat64})
    for (const char* op : {"_npi_tril", "_npi_triu"})
      for (const int64_t k : {-9, -1, 0, 2, 9})
        for (const Shape& shape : {Shape{2, 4, 3}, Shape{3}})
          expect_as_on_host({varied(shape, dtype, 97)}, [&](const Operands& in) {
            return result_of(op, in, {{"k", k}});
          });
}

}  // namespace
}  // namespace headrace
