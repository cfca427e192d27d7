#include "distributed/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/error.hpp"
#include "headrace/sparse.hpp"
#include "op/invoke.h"

namespace headrace::distributed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Array message_of(const NDArray& array) {
  Array message;
  set_array(array, message);
  return message;
}

TEST(Messages, CarryKeys) {
  for (const kvstore::Key& key : {kvstore::Key(int64_t{-3}), kvstore::Key("weight"), kvstore::Key("")}) {
    Key message;
    set_key(key, message);
    EXPECT_EQ(key_of(message), key);
  }
  EXPECT_THAT([] { key_of(Key()); }, ThrowsMessage<Error>(HasSubstr("without a key")));
}

TEST(Messages, CarryArrays) {
  const NDArray array = NDArray::from(std::span<const float>(std::vector<float>{1, 2, 3, 4, 5, 6}), {2, 3});
  const NDArray back = array_of(message_of(array));
  EXPECT_EQ(back.shape(), array.shape());
  EXPECT_EQ(back.to_vector<float>(), array.to_vector<float>());
  const NDArray turned = call("transpose", {array});
  EXPECT_THAT(array_of(message_of(turned)).to_vector<float>(), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_EQ(array_of(message_of(NDArray::empty({0, 3}))).shape(), Shape({0, 3}));
  EXPECT_EQ(array_of(message_of(cast_to(array, DType::kFloat16))).dtype(), DType::kFloat16);
}

TEST(Messages, CarryRows) {
  const NDArray values = NDArray::from(std::span<const float>(std::vector<float>{1, 2, 3, 4}), {2, 2});
  const NDArray rows = NDArray::from(std::span<const int64_t>(std::vector<int64_t>{1, 4}), {2});
  const NDArray back = array_of(message_of(sparse::row_sparse(values, rows, {5, 2})));
  EXPECT_EQ(back.storage_kind(), StorageKind::kRowSparse);
  EXPECT_THAT(sparse::indices_of(back).to_vector<int64_t>(), ElementsAre(1, 4));
  EXPECT_THAT(sparse::values_of(back).to_vector<float>(), ElementsAre(1, 2, 3, 4));
  const NDArray none = array_of(message_of(sparse::zeros(StorageKind::kRowSparse, {5, 2})));
  EXPECT_EQ(none.storage_kind(), StorageKind::kRowSparse);
  EXPECT_EQ(none.shape(), Shape({5, 2}));
}

TEST(Messages, AreChecked) {
  const Array good = message_of(NDArray::from(std::span<const float>(std::vector<float>{1, 2, 3, 4}), {2, 2}));
  const auto error = [&](const char* text, auto change) {
    Array message = good;
    change(message);
    EXPECT_THAT([&] { array_of(message); }, ThrowsMessage<Error>(HasSubstr(text)));
  };
  error("but 15 came", [](Array& message) { message.mutable_elements()->resize(15); });
  error("dtype number 200", [](Array& message) { message.set_dtype(200); });
  error("axis of -2", [](Array& message) { message.set_shape(0, -2); });
  error("together that is no array", [](Array& message) {
    message.set_shape(0, int64_t{1} << 40);
    message.set_shape(1, int64_t{1} << 40);
  });
  error("33 axes", [](Array& message) {
    for (int i = 0; i < 31; ++i) message.add_shape(1);
  });
  const auto rows = [](Array& message, std::initializer_list<int64_t> numbers) {
    message.set_sparse(true);
    for (const int64_t row : numbers) message.add_rows(row);
  };
  error("but row 2 came", [&](Array& message) { rows(message, {0, 2}); });
  error("but row 1 came", [&](Array& message) { rows(message, {1, 1}); });
  error("but row -1 came", [&](Array& message) { rows(message, {-1, 1}); });
  error("has 8 bytes, but 16 came", [&](Array& message) { rows(message, {1}); });
}

}  // namespace
}  // namespace headrace::distributed
