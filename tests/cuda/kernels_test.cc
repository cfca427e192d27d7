// Kernels of the plug-in that are no formulas, beside the host: every dtype, operands of any strides, none at all.
#include <gtest/gtest.h>

#include "headrace/random.hpp"
#include "tests/cuda/beside_host.h"

namespace headrace {
namespace {

using Arrays = std::vector<NDArray>;

NDArray apply(const char* op, const Arrays& inputs, std::initializer_list<NamedAttr> attrs = {}) {
  return invoke_all(find_op(op), attrs_of(find_op(op), attrs), inputs)[0];
}

NDArray transposed(const NDArray& x) { return call("transpose", {x}); }
// Without the first along the last axis, backwards along the first.
NDArray thinned(const NDArray& x) {
  const NDArray flipped = call("_npi_flip", {x}, {{"axis", Shape{0}}});
  return call("slice_axis", {flipped}, {{"axis", int64_t{-1}}, {"begin", int64_t{1}}, {"end", x.shape().back()}});
}

// --- reductions ------------------------------------------------------------------------------------------------------

TEST(CudaKernelsSlow, SumsOfEveryDType) {
  for (const DType dtype : kAllDTypes)
    expect_as_on_host({varied({6, 40}, dtype, 1)}, [](const Arrays& in) {
      return apply("_np_sum", in, {{"axis", Shape{1}}});
    });
}

TEST(CudaKernelsSlow, ExtremesAndProductsOfEveryDType) {
  for (const DType dtype : kAllDTypes)
    for (const char* op : {"_np_max", "_np_min", "_np_prod"})
      expect_as_on_host({varied({3, 7}, dtype, 2)}, [op](const Arrays& in) {
        return apply(op, in, {{"axis", Shape{0}}});
      });
}

TEST(CudaKernelsSlow, ReductionsOverAnyAxes) {
  const NDArray x = varied({4, 3, 1, 130}, DType::kFloat32, 3);
  for (const Shape& axes :
       {Shape{0}, Shape{1}, Shape{3}, Shape{0, 3}, Shape{1, 3}, Shape{0, 1}, Shape{0, 1, 2, 3}, Shape{}})
    for (const char* op : {"_np_sum", "_np_max"})
      expect_as_on_host({x}, [&](const Arrays& in) { return apply(op, in, {{"axis", axes}}); });
}

// Packs of neighbours, of many results and of few.
TEST(CudaKernelsSlow, ReductionsOfRowsOfEveryDType) {
  for (const DType dtype : kAllDTypes)
    for (const char* op : {"_np_sum", "_np_max"})
      expect_as_on_host({varied({300, 48}, dtype, 7)}, [op](const Arrays& in) {
        return apply(op, in, {{"axis", Shape{0}}});
      });
  for (const Shape& shape : {Shape{9000, 8}, Shape{40, 4096}, Shape{1, 16}, Shape{0, 16}})
    expect_as_on_host({varied(shape, DType::kFloat32, 8)}, [](const Arrays& in) {
      return apply("_np_sum", in, {{"axis", Shape{0}}});
    });
}

TEST(CudaKernelsSlow, LongReductionsAreCut) {
  expect_as_on_host({varied({3, 70'000}, DType::kFloat32, 4)}, [](const Arrays& in) {
    return apply("_np_sum", in, {{"axis", Shape{1}}});
  });
  // With and without packs, whose last piece is a shorter one.
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt16})
    for (const Shape& shape : {Shape{2, 70'008}, Shape{2, 70'001}, Shape{1, 5, 20'008}})
      expect_as_on_host({varied(shape, dtype, 4)}, [&](const Arrays& in) {
        return apply("_np_max", in, {{"axis", Shape{static_cast<int64_t>(shape.size()) - 1}}});
      });
  expect_as_on_host({varied({70'000, 5}, DType::kFloat64, 5)}, [](const Arrays& in) {
    return apply("_npi_mean", in, {{"axis", Shape{0}}});
  });
  expect_as_on_host({varied({100'000}, DType::kFloat32, 6)}, [](const Arrays& in) { return apply("norm", in); });
}

TEST(CudaKernelsSlow, ReductionsOfAnyStrides) {
  for (NDArray (*view)(const NDArray&) : {transposed, thinned})
    for (const Shape& axes : {Shape{0}, Shape{1}})
      expect_as_on_host({varied({33, 20}, DType::kFloat32, 7)}, [&](const Arrays& in) {
        return apply("_np_sum", {view(in[0])}, {{"axis", axes}});
      });
}

TEST(CudaKernelsSlow, ReductionsOfNothing) {
  for (const Shape& shape : {Shape{0, 3}, Shape{3, 0}, Shape{0}})
    expect_as_on_host({varied(shape, DType::kFloat32, 8)}, [](const Arrays& in) {
      return apply("_np_sum", in, {{"axis", Shape{0}}});
    });
}

TEST(CudaKernelsSlow, InitialValuesAndOtherResults) {
  expect_as_on_host({varied({5, 6}, DType::kFloat16, 9)}, [](const Arrays& in) {
    return apply("_np_sum", in, {{"axis", Shape{1}}, {"initial", 2.5}, {"dtype", DType::kFloat64}});
  });
  expect_as_on_host({varied({5, 6}, DType::kInt8, 10)}, [](const Arrays& in) {
    return apply("_npi_mean", in, {{"axis", Shape{0}}});
  });
  expect_as_on_host({varied({5, 60}, DType::kFloat32, 11)}, [](const Arrays& in) {
    return apply("_npi_std", in, {{"axis", Shape{1}}});
  });
}

TEST(CudaKernelsSlow, SumsDoNotDependOnTheRun) {
  const NDArray x = as_in_context(varied({300'000}, DType::kFloat32, 12), kGpu0);
  const std::string first = bytes_of(as_in_context(apply("_np_sum", {x}), {}));
  for (int run = 0; run < 3; ++run) EXPECT_EQ(bytes_of(as_in_context(apply("_np_sum", {x}), {})), first);
}

TEST(CudaKernelsSlow, PositionsOfExtremes) {
  for (const DType dtype : kAllDTypes)
    expect_as_on_host({varied({4, 50}, dtype, 13)}, [](const Arrays& in) {
      return apply("argmax", in, {{"axis", int64_t{1}}});
    });
  const NDArray x = call("_npi_where", {varied({3, 4, 9}, DType::kBool, 14), varied({3, 4, 9}, DType::kFloat32, 15),
                                        call("_full", {}, {{"shape", Shape{3, 4, 9}}, {"value", kNan}})});
  for (const int64_t axis : {0, 1, 2})
    expect_as_on_host({x}, [axis](const Arrays& in) { return apply("_npi_argmin", in, {{"axis", int64_t{axis}}}); });
}

// Which are cut among many threads: the best stands anywhere, and equal ones in several parts.
TEST(CudaKernelsSlow, PositionsOfExtremesInLongRows) {
  for (const Shape& shape : {Shape{70'001}, Shape{2, 40'000}, Shape{30'000, 3}})
    for (const char* name : {"_npi_argmax", "_npi_argmin"})
      for (const DType dtype : {DType::kFloat32, DType::kInt8})
        expect_as_on_host({varied(shape, dtype, 16)}, [&](const Arrays& in) {
          return apply(name, in, {{"axis", shape[0] == 2 ? int64_t{1} : int64_t{0}}});
        });
  for (const size_t place : {0, 33'333, 70'000}) {
    std::vector<float> row(70'001, 2);
    row[place] = static_cast<float>(kNan);
    row.back() = 3;
    expect_as_on_host({array(row)}, [](const Arrays& in) { return apply("_npi_argmax", in, {{"axis", int64_t{0}}}); });
  }
}

// --- copies ----------------------------------------------------------------------------------------------------------

TEST(CudaKernelsSlow, CopiesOfTransposedArraysOfEveryDType) {
  for (const DType dtype : kAllDTypes)
    expect_as_on_host({varied({70, 40}, dtype, 40)},
                      [](const Arrays& in) { return call("_copy", {transposed(in[0])}); });
}

TEST(CudaKernelsSlow, CopiesOfPermutedAxes) {
  for (const Shape& axes : {Shape{0, 2, 3, 1}, Shape{0, 3, 1, 2}, Shape{3, 1, 2, 0}, Shape{2, 3, 0, 1}})
    for (const Shape& shape : {Shape{3, 17, 33, 20}, Shape{2, 40, 1, 64}, Shape{5, 3, 16, 31}})
      expect_as_on_host({varied(shape, DType::kFloat32, 41)}, [&](const Arrays& in) {
        return call("_copy", {call("transpose", {in[0]}, {{"axes", axes}})});
      });
}

TEST(CudaKernelsSlow, RunningSums) {
  for (const DType dtype : kAllDTypes)
    for (const int64_t axis : {0, 1})
      expect_as_on_host({varied({3, 50}, dtype, 13)}, [axis](const Arrays& in) {
        return apply("_cumulative_sum", in, {{"axis", int64_t{axis}}, {"reverse", true}});
      });
  for (const Shape& shape : {Shape{3, 5}, Shape{2, 40'000}, Shape{20'000, 3}, Shape{300, 1100}, Shape{0, 3}})
    for (const bool reverse : {false, true})
      for (const int64_t axis : {0, 1})
        expect_as_on_host({varied(shape, DType::kFloat32, 14)}, [&](const Arrays& in) {
          return apply("_cumulative_sum", in, {{"axis", int64_t{axis}}, {"reverse", reverse}});
        });
}

// --- rows ------------------------------------------------------------------------------------------------------------

TEST(CudaKernelsSlow, SoftmaxOfRowsOfAnyLength) {
  for (const Shape& shape :
       {Shape{5, 3}, Shape{4, 70}, Shape{2, 1500}, Shape{2, 9000}, Shape{3, 8, 5}, Shape{0, 4}, Shape{4, 0}})
    for (const char* op : {"softmax", "log_softmax"})
      for (const int64_t axis : {-1, 1})
        expect_as_on_host({varied(shape, DType::kFloat32, 16)}, [&](const Arrays& in) {
          return apply(op, in, {{"axis", int64_t{axis}}});
        });
}

TEST(CudaKernelsSlow, SoftmaxOfEveryDType) {
  for (const DType dtype : kAllDTypes)
    expect_as_on_host({varied({3, 9}, dtype, 17)}, [](const Arrays& in) { return apply("softmax", in); });
}

TEST(CudaKernelsSlow, LayerNormOfEveryDType) {
  for (const DType dtype : kRealDTypes)
    for (const int64_t width : {3, 40, 1100, 9000})
      expect_as_on_host({varied({6, width}, dtype, 18), varied({width}, dtype, 19), varied({width}, dtype, 20)},
                        [](const Arrays& in) { return apply("LayerNorm", in); });
}

TEST(CudaKernelsSlow, GradientsOfLayerNorm) {
  for (const Shape& shape : {Shape{700, 40}, Shape{3, 1100}, Shape{2, 5000}, Shape{0, 4}})
    for (const size_t which : {0, 1, 2}) {
      const Shape width{shape[1]};
      expect_as_on_host(
          {varied(shape, DType::kFloat32, 21), varied(shape, DType::kFloat32, 22), varied(width, DType::kFloat32, 23)},
          [which](const Arrays& in) {
            const OpDef& op = find_op("_backward_LayerNorm");
            return cast_to(invoke_all(op, op.default_attrs, in)[which], DType::kFloat16);
          });
    }
}

TEST(CudaKernelsSlow, GradientsOfSoftmaxOutputs) {
  for (const char* normalization : {"null", "batch", "valid"})
    expect_as_on_host({varied({7, 5}, DType::kFloat32, 24), varied({7}, DType::kFloat32, 25)}, [&](const Arrays& in) {
      return apply("_backward_SoftmaxOutput", in,
                   {{"normalization", std::string(normalization)}, {"use_ignore", true}});
    });
}

// --- products --------------------------------------------------------------------------------------------------------

TEST(CudaKernelsSlow, ProductsOfEveryDType) {
  for (const DType dtype : kAllDTypes)
    expect_as_on_host({varied({5, 7}, dtype, 26), varied({7, 6}, dtype, 27)},
                      [](const Arrays& in) { return apply("dot", in); });
}

TEST(CudaKernelsSlow, ProductsOfAnyStrides) {
  const NDArray a = varied({6, 8}, DType::kFloat32, 28), b = varied({8, 6}, DType::kFloat32, 29);
  expect_as_on_host({a, b}, [](const Arrays& in) { return apply("dot", {transposed(in[1]), transposed(in[0])}); });
  expect_as_on_host({a, varied({3, 7}, DType::kFloat32, 49)}, [](const Arrays& in) {
    return apply("dot", {thinned(in[0]), in[1]}, {{"transpose_b", true}});
  });
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      expect_as_on_host({ta ? b : a, tb ? a : b}, [&](const Arrays& in) {
        return apply("dot", in, {{"transpose_a", ta}, {"transpose_b", tb}});
      });
}

TEST(CudaKernelsSlow, ProductsOfNothing) {
  expect_as_on_host({varied({3, 0}, DType::kFloat32, 30), varied({0, 2}, DType::kFloat32, 31)},
                    [](const Arrays& in) { return apply("dot", in); });
  expect_as_on_host({varied({0, 3}, DType::kFloat32, 32), varied({3, 2}, DType::kFloat32, 33)},
                    [](const Arrays& in) { return apply("dot", in); });
}

TEST(CudaKernelsSlow, StacksOfMatrices) {
  const NDArray a = varied({3, 4, 5}, DType::kFloat32, 34), b = varied({3, 5, 2}, DType::kFloat32, 35);
  expect_as_on_host({a, b}, [](const Arrays& in) { return apply("batch_dot", in); });
  expect_as_on_host({a, varied({5, 2}, DType::kFloat32, 36)},
                    [](const Arrays& in) { return apply("_npi_matmul", in); });
  expect_as_on_host({varied({2, 1, 4, 5}, DType::kFloat32, 37), varied({3, 5, 2}, DType::kFloat32, 38)},
                    [](const Arrays& in) { return apply("_npi_matmul", in); });
}

TEST(CudaKernelsSlow, LayersWithABias) {
  for (const DType dtype : kRealDTypes)
    expect_as_on_host({varied({5, 6}, dtype, 39), varied({4, 6}, dtype, 40), varied({4}, dtype, 41)},
                      [](const Arrays& in) {
                        return apply("FullyConnected", in, {{"num_hidden", int64_t{4}}});
                      });
}

// --- indexing --------------------------------------------------------------------------------------------------------

TEST(CudaKernelsSlow, SlicesAtPositions) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kUint8, DType::kInt64})
    for (const char* mode : {"clip", "wrap"})
      for (const Shape& shape : {Shape{4, 3}, Shape{4, 2, 16}})  // one by one, and in packs
        expect_as_on_host({varied(shape, dtype, 42), array({-3, 0, 9, 2}, {2, 2})}, [&](const Arrays& in) {
          return apply("take", in, {{"mode", std::string(mode)}});
        });
}

TEST(CudaKernelsSlow, GradientsOfSlicesAtPositions) {
  for (const DType dtype : kAllDTypes)
    expect_as_on_host({varied({5, 3}, dtype, 43), array({1, 0, 1, 1, 9})}, [](const Arrays& in) {
      return apply("_backward_take", in, {{"shape", Shape{4, 3}}});
    });
}

// What comes very often is added up in pieces.
TEST(CudaKernelsSlow, GradientsOfOneSliceAmongMany) {
  std::vector<float> places(700, 1);
  for (size_t i = 0; i < places.size(); i += 9) places[i] = static_cast<float>(i % 4);
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt64, DType::kBool})
    expect_as_on_host({varied({700, 3}, dtype, 45), array(places)}, [](const Arrays& in) {
      return apply("_backward_take", in, {{"shape", Shape{4, 3}}});
    });
}

TEST(CudaKernelsSlow, PositionsOutOfRangeRaise) {
  const NDArray x = as_in_context(varied({4, 3}, DType::kFloat32, 44), kGpu0);
  const NDArray good = as_in_context(array({-4, 3}), kGpu0), bad = as_in_context(array({1, 7, 9}), kGpu0);
  const auto taken = [&](const NDArray& at) {
    return as_in_context(apply("take", {x, at}, {{"mode", std::string("raise")}}), {});
  };
  EXPECT_NO_THROW(taken(good).wait_to_read());
  try {
    taken(bad).wait_to_read();
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kIndex);
    EXPECT_NE(std::string(error.what()).find("index 7 is out of bounds for axis 0 with size 4"), std::string::npos);
  }
}

// Many blocks look at them.
TEST(CudaKernelsSlow, TheFirstOfManyPositionsOutOfRangeRaises) {
  const NDArray x = as_in_context(varied({4, 3}, DType::kFloat32, 44), kGpu0);
  for (const size_t place : {5, 20'000, 49'999}) {
    std::vector<float> places(50'000, 1);
    places[place] = 7;
    if (place + 3 < places.size()) places[place + 3] = 8;
    const NDArray at = as_in_context(array(places), kGpu0);
    try {
      as_in_context(apply("take", {x, at}, {{"mode", std::string("raise")}}), {}).wait_to_read();
      FAIL() << "nothing was raised";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("index 7 is out of bounds"), std::string::npos) << error.what();
    }
  }
}

TEST(CudaKernelsSlow, OneElementOfEachRow) {
  expect_as_on_host({varied({3, 5, 4}, DType::kFloat32, 45), varied({3, 4}, DType::kInt32, 46)}, [](const Arrays& in) {
    return apply("pick", in, {{"axis", int64_t{1}}});
  });
  expect_as_on_host({varied({5}, DType::kInt32, 47)}, [](const Arrays& in) {
    return apply("one_hot", in, {{"depth", int64_t{3}}, {"on_value", 2.5}});
  });
}

TEST(CudaKernelsSlow, ArraysAreJoined) {
  const NDArray a = varied({2, 3}, DType::kFloat32, 48);
  expect_as_on_host({a, a}, [](const Arrays& in) { return apply("Concat", {in[0], transposed(transposed(in[1]))}); });
  expect_as_on_host({a, a}, [](const Arrays& in) { return apply("stack", in, {{"axis", int64_t{1}}}); });
}

// --- creation and random numbers -------------------------------------------------------------------------------------

TEST(CudaKernelsSlow, ArraysAreMade) {
  const auto full = [](DType dtype, Device device) {
    return as_in_context(
        apply("_full", {},
              {{"shape", Shape{3, 2}}, {"value", 1.0}, {"dtype", dtype}, {"ctx", std::string(to_string(device))}}),
        {});
  };
  const auto range = [](DType dtype, Device device) {
    return as_in_context(
        apply(
            "_npi_arange", {},
            {{"start", 2.5}, {"stop", 40.0}, {"step", 1.5}, {"dtype", dtype}, {"ctx", std::string(to_string(device))}}),
        {});
  };
  const auto eye = [](DType dtype, Device device) {
    return as_in_context(apply("_eye", {},
                               {{"N", int64_t{4}},
                                {"M", int64_t{3}},
                                {"k", int64_t{-2}},
                                {"dtype", dtype},
                                {"ctx", std::string(to_string(device))}}),
                         {});
  };
  const auto spaced = [](DType dtype, Device device) {
    return as_in_context(apply("_linspace", {},
                               {{"start", 1.5},
                                {"stop", 7.0},
                                {"num", int64_t{9}},
                                {"dtype", dtype},
                                {"ctx", std::string(to_string(device))}}),
                         {});
  };
  for (const DType dtype : kAllDTypes) {
    expect_close(full(dtype, kGpu0), full(dtype, {}));
    expect_close(range(dtype, kGpu0), range(dtype, {}));
    expect_close(eye(dtype, kGpu0), eye(dtype, {}));
    expect_close(spaced(dtype, kGpu0), spaced(dtype, {}));
  }
}

TEST(CudaKernelsSlow, TrianglesAreKept) {
  for (const char* op : {"_npi_tril", "_npi_triu"})
    for (const int64_t k : {-9, -1, 0, 2, 9}) {
      expect_as_on_host({varied({2, 5, 4}, DType::kFloat32, 70)}, [&](const Arrays& in) {
        return apply(op, in, {{"k", int64_t{k}}});
      });
      expect_as_on_host({varied({5}, DType::kFloat16, 71)}, [&](const Arrays& in) {
        return apply(op, in, {{"k", int64_t{k}}});
      });
    }
}

// Bits: no rounding is in them.
TEST(CudaKernelsSlow, DrawsAreThoseOfTheHost) {
  const auto uniform = [](DType dtype, Device device) {
    random::seed(3);
    return as_in_context(apply("_random_uniform", {},
                               {{"shape", Shape{1000}},
                                {"low", -1.0},
                                {"high", 3.0},
                                {"dtype", dtype},
                                {"ctx", std::string(to_string(device))}}),
                         {});
  };
  const auto normal = [](Device device) {
    random::seed(3);
    return as_in_context(apply("_random_normal", {}, {{"shape", Shape{1000}}, {"ctx", std::string(to_string(device))}}),
                         {});
  };
  for (const DType dtype : kRealDTypes) EXPECT_EQ(bytes_of(uniform(dtype, kGpu0)), bytes_of(uniform(dtype, {})));
  expect_close(normal(kGpu0), normal({}));
  random::set_generator(random::Generator::kMt19937);
  EXPECT_EQ(bytes_of(normal(kGpu0)), bytes_of(normal({})));
  random::set_generator(random::Generator::kPhilox);
}

}  // namespace
}  // namespace headrace
