#include "ndarray/strided_copy.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace headrace {
namespace {

// The address of an element, in elements.
int64_t place(const Shape& shape, const Strides& strides, int64_t flat) {
  int64_t offset = 0;
  for (size_t i = shape.size(); i-- > 0;) {
    offset += flat % shape[i] * strides[i];
    flat /= shape[i];
  }
  return offset;
}

// Strides of a random permutation of the axes of `shape`, some of them reversed; `base` is where the first element
// lies.
Strides random_strides(const Shape& shape, std::mt19937& random, int64_t* base) {
  std::vector<size_t> order(shape.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  Strides strides(shape.size());
  int64_t step = 1;
  *base = 0;
  for (size_t axis : order) {
    strides[axis] = step;
    if (random() % 3 == 0 && shape[axis] > 0) {
      *base += (shape[axis] - 1) * step;
      strides[axis] = -step;
    }
    step *= shape[axis];
  }
  return strides;
}

class StridedCopy : public testing::TestWithParam<DType> {};

TEST_P(StridedCopy, MovesEveryElementToItsPlace) {
  size_t item = item_size(GetParam());
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    Shape shape;
    for (unsigned i = 0, n = random() % 5; i < n; ++i) shape.push_back(static_cast<int64_t>(random() % 9));
    int64_t count = element_count(shape);
    std::vector<char> source(static_cast<size_t>(count) * item + item), target(source.size(), 0);
    for (char& byte : source) byte = static_cast<char>(random());
    int64_t source_base, target_base;
    Strides from = random_strides(shape, random, &source_base), to = random_strides(shape, random, &target_base);
    char* first_target = target.data() + static_cast<size_t>(target_base) * item;
    const char* first_source = source.data() + static_cast<size_t>(source_base) * item;
    strided_copy(first_target, to, first_source, from, shape, GetParam());
    for (int64_t flat = 0; flat < count; ++flat) {
      const char* a = first_source + place(shape, from, flat) * static_cast<int64_t>(item);
      const char* b = first_target + place(shape, to, flat) * static_cast<int64_t>(item);
      ASSERT_EQ(std::memcmp(a, b, item), 0) << "seed " << seed << ", element " << flat;
    }
  }
}

// Planes of all widths beside a cache line, longer than the blocks in which they are copied.
TEST_P(StridedCopy, TurnsLongPlanes) {
  const size_t item = item_size(GetParam());
  std::mt19937 random(1);
  for (int64_t width : {1, 2, 3, 7, 9, 16, 31, 64, 65})
    for (int64_t length : {1, 500, 3001}) {
      const Shape shape{length, width};
      const Strides from{1, length}, to{width, 1};
      std::vector<char> source(static_cast<size_t>(length * width) * item), target(source.size(), 0);
      for (char& byte : source) byte = static_cast<char>(random());
      strided_copy(target.data(), to, source.data(), from, shape, GetParam());
      for (int64_t flat = 0; flat < length * width; ++flat) {
        const char* a = source.data() + place(shape, from, flat) * static_cast<int64_t>(item);
        const char* b = target.data() + place(shape, to, flat) * static_cast<int64_t>(item);
        ASSERT_EQ(std::memcmp(a, b, item), 0) << length << " x " << width << ", element " << flat;
      }
    }
}

// Images of which every so many columns of every so many rows are copied, with channels innermost.
TEST_P(StridedCopy, TurnsWhatLiesInSmallSteps) {
  const size_t item = item_size(GetParam());
  std::mt19937 random(1);
  for (int64_t step : {1, 2, 3, 4, 5})
    for (int64_t channels : {1, 5, 16, 67})
      for (int64_t width : {1, 9, 150}) {
        const Shape shape{2, channels, 3, width};
        const int64_t row = width * step, plane = 3 * row * step;
        const Strides from{channels * plane, plane, row * step, step};
        const Strides to{3 * width * channels, 1, width * channels, channels};
        const auto count = static_cast<size_t>(element_count(shape));
        std::vector<char> source(static_cast<size_t>(2 * channels * plane) * item), target(count * item, 0);
        for (char& byte : source) byte = static_cast<char>(random());
        strided_copy(target.data(), to, source.data(), from, shape, GetParam());
        for (int64_t flat = 0; flat < static_cast<int64_t>(count); ++flat) {
          const char* a = source.data() + place(shape, from, flat) * static_cast<int64_t>(item);
          const char* b = target.data() + place(shape, to, flat) * static_cast<int64_t>(item);
          ASSERT_EQ(std::memcmp(a, b, item), 0) << step << ", " << channels << " x " << width << ", element " << flat;
        }
      }
}

INSTANTIATE_TEST_SUITE_P(Sizes, StridedCopy,
                         testing::Values(DType::kUint8, DType::kFloat16, DType::kFloat32, DType::kFloat64));

}  // namespace
}  // namespace headrace
