#include "ndarray/serialize.h"

#include <gtest/gtest.h>

#include <random>

#include "headrace/error.hpp"

namespace headrace {
namespace {

NDArray counting(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return NDArray::from_host(values.data(), shape, DType::kFloat32);
}

TEST(Serialize, RecordsComeBack) {
  for (bool np_shapes : {false, true}) {
    for (const Shape& shape : {Shape{3}, Shape{2, 3}, Shape{1, 1, 4}}) {
      NDArray array = counting(shape);
      std::string record = serialize_record(array, np_shapes);
      size_t used = 0;
      NDArray again = parse_record(record, &used);
      EXPECT_EQ(used, record.size());
      EXPECT_EQ(again.shape(), shape);
      EXPECT_EQ(again.to_vector<float>(), array.to_vector<float>());
    }
  }
}

TEST(Serialize, ScalarsNeedNumPyShapes) {
  NDArray again = parse_record(serialize_record(counting({}), true), nullptr);
  EXPECT_TRUE(again);
  EXPECT_EQ(again.ndim(), 0u);
  EXPECT_FALSE(parse_record(serialize_record(counting({}), false), nullptr));
}

TEST(Serialize, EveryTruncationIsAnError) {
  std::string record = serialize_record(counting({2, 3}), false);
  for (size_t length = 0; length < record.size(); ++length)
    EXPECT_THROW(parse_record(std::string_view(record).substr(0, length), nullptr), Error) << length;
}

// Whatever the bytes are: an array or an Error, and never more memory than the bytes can mean.
TEST(Serialize, DamagedBytesAreArraysOrErrors) {
  std::string good = serialize_record(counting({4, 5}), true);
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    std::string bytes = good;
    for (unsigned k = 0, n = 1 + random() % 4; k < n; ++k) bytes[random() % bytes.size()] = static_cast<char>(random());
    try {
      NDArray array = parse_record(bytes, nullptr);
      if (array) {
        EXPECT_LE(array.size(), int64_t{64} << 20) << "seed " << seed;
      }
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("Invalid NDArray file format"), std::string::npos) << error.what();
    }
  }
}

TEST(Serialize, MissingFilesSayWhich) {
  try {
    load_arrays("/no/such/file");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/no/such/file"), std::string::npos);
  }
}

}  // namespace
}  // namespace headrace
