#include "distributed/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/error.hpp"
#include "headrace/sparse.hpp"
#include "ndarray/view.h"
#include "op/invoke.h"

namespace headrace::distributed {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::ThrowsMessage;

struct Message {
  Array head;
  std::string elements;

  // Pieces as gRPC may cut them.
  NDArray array() const {
    std::vector<grpc::Slice> pieces;
    for (size_t at = 0; at < elements.size(); at += 5) pieces.emplace_back(elements.substr(at, 5));
    return array_of(head, Elements(std::move(pieces)));
  }
};

Message message_of(const NDArray& array) {
  Message message;
  set_array(array, message.head);
  const NDArray values = packed(array);
  values.wait_to_read();
  const Elements elements = elements_of(values);
  message.elements.resize(elements.size());
  elements.copy_to(message.elements.data());
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
  const NDArray back = message_of(array).array();
  EXPECT_EQ(back.shape(), array.shape());
  EXPECT_EQ(back.to_vector<float>(), array.to_vector<float>());
  const NDArray turned = call("transpose", {array});
  EXPECT_THAT(message_of(turned).array().to_vector<float>(), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_EQ(message_of(NDArray::empty({0, 3})).array().shape(), Shape({0, 3}));
  EXPECT_EQ(message_of(cast_to(array, DType::kFloat16)).array().dtype(), DType::kFloat16);
}

TEST(Messages, CarryRows) {
  const NDArray values = NDArray::from(std::span<const float>(std::vector<float>{1, 2, 3, 4}), {2, 2});
  const NDArray rows = NDArray::from(std::span<const int64_t>(std::vector<int64_t>{1, 4}), {2});
  const NDArray back = message_of(sparse::row_sparse(values, rows, {5, 2})).array();
  EXPECT_EQ(back.storage_kind(), StorageKind::kRowSparse);
  EXPECT_THAT(sparse::indices_of(back).to_vector<int64_t>(), ElementsAre(1, 4));
  EXPECT_THAT(sparse::values_of(back).to_vector<float>(), ElementsAre(1, 2, 3, 4));
  const NDArray none = message_of(sparse::zeros(StorageKind::kRowSparse, {5, 2})).array();
  EXPECT_EQ(none.storage_kind(), StorageKind::kRowSparse);
  EXPECT_EQ(none.shape(), Shape({5, 2}));
}

TEST(Messages, AreChecked) {
  const Message good = message_of(NDArray::from(std::span<const float>(std::vector<float>{1, 2, 3, 4}), {2, 2}));
  const auto error = [&](const char* text, auto change) {
    Message message = good;
    change(message);
    EXPECT_THAT([&] { message.array(); }, ThrowsMessage<Error>(HasSubstr(text)));
  };
  error("but 15 came", [](Message& message) { message.elements.resize(15); });
  error("dtype number 200", [](Message& message) { message.head.set_dtype(200); });
  error("axis of -2", [](Message& message) { message.head.set_shape(0, -2); });
  error("together that is no array", [](Message& message) {
    message.head.set_shape(0, int64_t{1} << 40);
    message.head.set_shape(1, int64_t{1} << 40);
  });
  error("33 axes", [](Message& message) {
    for (int i = 0; i < 31; ++i) message.head.add_shape(1);
  });
  const auto rows = [](Message& message, std::initializer_list<int64_t> numbers) {
    message.head.set_sparse(true);
    for (const int64_t row : numbers) message.head.add_rows(row);
  };
  error("but row 2 came", [&](Message& message) { rows(message, {0, 2}); });
  error("but row 1 came", [&](Message& message) { rows(message, {1, 1}); });
  error("but row -1 came", [&](Message& message) { rows(message, {-1, 1}); });
  error("has 8 bytes, but 16 came", [&](Message& message) { rows(message, {1}); });
}

TEST(Messages, SendWhatAnArrayWasWhenItIsWrittenLater) {
  const NDArray array = full({100'000}, 1, DType::kFloat32, {});  // large enough to share its memory
  array.wait_to_read();
  const Elements elements = elements_of(array, 4, 80'000);
  copy_into(array, full({100'000}, 2, DType::kFloat32, {}));
  array.wait_to_read();
  std::vector<float> sent(elements.size() / sizeof(float));
  elements.copy_to(reinterpret_cast<char*>(sent.data()));
  EXPECT_THAT(sent, AllOf(SizeIs(19'999), Each(1)));
}

TEST(Messages, OfOnePieceAreNotCopied) {
  alignas(64) static const float memory[4] = {1, 2, 3, 4};
  Array head;
  set_type({4}, DType::kFloat32, head);
  bool is_kept = true;
  {
    const auto owner = [](bool* kept) { *kept = false; };
    const NDArray array = array_of(head, Elements(reinterpret_cast<const char*>(memory), sizeof memory,
                                                  std::unique_ptr<bool, void (*)(bool*)>(&is_kept, owner)));
    EXPECT_EQ(static_cast<const void*>(array.view()->data()), memory);
    EXPECT_TRUE(is_kept);
  }
  EXPECT_FALSE(is_kept);
}

}  // namespace
}  // namespace headrace::distributed
