// Places in arrays on the plug-in's GPUs, beside the host: flat indices and coordinates, diagonals and triangles.
#include <gtest/gtest.h>

#include "op/thread_state.h"
#include "tests/cuda/beside_host.h"

namespace headrace {
namespace {

constexpr DType kMatrixDTypes[] = {DType::kFloat32, DType::kFloat64};

TEST(CudaPlacesSlow, FlatIndicesAndCoordinates) {
  for (const DType dtype : {DType::kFloat32, DType::kInt32, DType::kInt64, DType::kUint8}) {
    expect_as_on_host({varied({3, 40, 5}, dtype, 1)}, [](const std::vector<NDArray>& in) {  // some out of range
      return call("_ravel_multi_index", {in[0]}, {{"shape", Shape{3, 4, 2}}});
    });
    const NDArray flat = call("_mul_scalar", {varied({60}, DType::kInt32, 2)}, {{"scalar", 17.0}});
    expect_as_on_host({cast_to(flat, dtype)}, [](const std::vector<NDArray>& in) {
      return call("_unravel_index", {in[0]}, {{"shape", Shape{3, 4, 2}}});
    });
  }
  expect_as_on_host({varied({3, 0}, DType::kInt64, 3)}, [](const std::vector<NDArray>& in) {
    return call("_ravel_multi_index", {in[0]}, {{"shape", Shape{3, 4, 2}}});
  });
}

TEST(CudaPlacesSlow, CoordinatesOfElements) {
  for (const Shape& shape : {Shape{7, 30}, Shape{0, 3}, Shape{2, 3, 4}}) {
    expect_as_on_host({varied(shape, DType::kFloat32, 4)},
                      [](const std::vector<NDArray>& in) { return call("_contrib_index_array", {in[0]}); });
    for (const char* op : {"shape_array", "size_array"})
      expect_as_on_host({varied(shape, DType::kFloat32, 4)},
                        [op](const std::vector<NDArray>& in) { return call(op, {in[0]}); });
  }
  expect_as_on_host({varied({2, 3, 4}, DType::kFloat32, 5)}, [](const std::vector<NDArray>& in) {
    return call("_contrib_index_array", {in[0]}, {{"axes", Shape{-1, 0}}});
  });
  expect_as_on_host({varied({9, 9}, DType::kFloat32, 6)},
                    [](const std::vector<NDArray>& in) { return call("_npi_diag_indices_from", {in[0]}); });
}

TEST(CudaPlacesSlow, ValuesThatFollowFromTheirPlaces) {
  const auto made = [](const char* op, std::initializer_list<NamedAttr> attrs, Device device) {
    thread_state().device = device;
    const NDArray values = call(op, {}, attrs);
    thread_state().device = {};
    EXPECT_EQ(values.device(), device);
    return as_in_context(values, {});
  };
  const auto compare = [&](const char* op, std::initializer_list<NamedAttr> attrs) {
    EXPECT_EQ(bytes_of(made(op, attrs, kGpu0)), bytes_of(made(op, attrs, {}))) << op;
  };
  for (const char* op : {"_npi_hanning", "_npi_hamming", "_npi_blackman"}) compare(op, {{"M", int64_t{77}}});
  compare("_npi_logspace", {{"start", 0.0}, {"stop", 3.0}, {"num", int64_t{50}}});
  compare("_npi_indices", {{"dimensions", Shape{5, 40, 3}}});
  compare("_npi_indices", {{"dimensions", Shape{5, 0}}});
}

TEST(CudaPlacesSlow, RowsAreReplaced) {
  const NDArray at = cast_to(array({3, 0, 3, -1}), DType::kInt64);  // one twice: the last stays
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt64, DType::kBool})
    expect_as_on_host({varied({6, 5}, dtype, 7), at, varied({4, 5}, dtype, 8)}, [](const std::vector<NDArray>& in) {
      return call("_contrib_index_copy", {in[0], in[1], in[2]});
    });
  const NDArray outside = as_in_context(cast_to(array({6}), DType::kInt64), kGpu0);
  const NDArray copied = call("_contrib_index_copy", {as_in_context(varied({6, 5}, DType::kFloat32, 7), kGpu0), outside,
                                                      as_in_context(varied({1, 5}, DType::kFloat32, 8), kGpu0)});
  EXPECT_EQ(kind_of([&] { as_in_context(copied, {}).wait_to_read(); }), ErrorKind::kIndex);
}

TEST(CudaPlacesSlow, DiagonalsAndTrianglesAsVectors) {
  for (const DType dtype : kMatrixDTypes)
    for (const int64_t offset : {-2, 0, 3}) {
      for (const char* op : {"_linalg_extractdiag", "_linalg_extracttrian"})
        expect_as_on_host({varied({3, 20, 20}, dtype, 9)}, [&](const std::vector<NDArray>& in) {
          return call(op, {in[0]}, {{"offset", offset}});
        });
      expect_as_on_host({varied({3, 15}, dtype, 10)}, [&](const std::vector<NDArray>& in) {
        return call("_linalg_makediag", {in[0]}, {{"offset", offset}});
      });
      for (const bool lower : {true, false})
        expect_as_on_host({varied({3, 15}, dtype, 11)}, [&](const std::vector<NDArray>& in) {
          return call("_linalg_maketrian", {in[0]}, {{"offset", offset}, {"lower", lower}});
        });
    }
}

TEST(CudaPlacesSlow, LogarithmsOfDiagonals) {
  for (const DType dtype : kMatrixDTypes)
    for (const Shape& shape : {Shape{5, 5}, Shape{3, 300, 300}, Shape{2, 0, 0}})
      expect_as_on_host({call("abs", {varied(shape, dtype, 12)})},
                        [](const std::vector<NDArray>& in) { return call("_linalg_sumlogdiag", {in[0]}); });
}

TEST(CudaPlacesSlow, ProductsWithTriangles) {
  for (const DType dtype : kMatrixDTypes)
    for (const bool transpose : {false, true})
      for (const bool rightside : {false, true})
        for (const bool lower : {false, true}) {
          const Shape other = rightside ? Shape{2, 7, 13} : Shape{2, 13, 7};
          expect_as_on_host({varied({2, 13, 13}, dtype, 13), varied(other, dtype, 14)},
                            [&](const std::vector<NDArray>& in) {
                              return call("_linalg_trmm", {in[0], in[1]},
                                          {{"transpose", transpose},
                                           {"rightside", rightside},
                                           {"lower", lower},
                                           {"alpha", rightside ? 1.0 : -2.5}});
                            });
        }
}

}  // namespace
}  // namespace headrace
