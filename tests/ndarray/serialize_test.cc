#include "ndarray/serialize.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <span>
#include <thread>

#include "headrace/error.hpp"
#include "headrace/sparse.hpp"
#include "tests/support/files.h"

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

// Records without NumPy's shapes have none of these: they are written with them.
TEST(Serialize, ArraysWithoutDimensionsComeBack) {
  for (bool np_shapes : {false, true}) {
    const NDArray again = parse_record(serialize_record(NDArray::from(std::vector{7.0f}, {}), np_shapes), nullptr);
    ASSERT_TRUE(again);
    EXPECT_EQ(again.ndim(), 0u);
    EXPECT_EQ(again.item(), 7);
  }
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

// A record of a row-sparse float32 array of which row 7 is stored.
std::string sparse_record(int64_t rows) {
  std::string record = serialize_record(counting({1, 2}), false);  // magic, type, shape, device, dtype, values
  const std::string stored_shape = record.substr(8, 20), place = record.substr(28, 12), values = record.substr(40);
  std::string shape = stored_shape;
  std::memcpy(&shape[4], &rows, 8);
  const int64_t row = 7;
  const std::string index = serialize_record(NDArray::from_host(&row, {1}, DType::kInt64), false);
  record[4] = 1;
  return record.substr(0, 8) + stored_shape + shape + place + index.substr(28, 4) + index.substr(8, 12) + values +
         index.substr(32);
}

std::string container(const std::vector<std::string>& records) {
  const uint64_t head[] = {0x112, 0, records.size()}, names = 0;
  std::string bytes(reinterpret_cast<const char*>(head), sizeof(head));
  for (const std::string& record : records) bytes += record;
  return bytes.append(reinterpret_cast<const char*>(&names), sizeof(names));
}

TEST(Serialize, SparseRecordsGoThereAndBack) {
  const NamedArrays loaded = parse_arrays(container({sparse_record(8), sparse_record(9)}));
  ASSERT_EQ(loaded.arrays.size(), 2u);
  EXPECT_EQ(loaded.arrays[1].shape(), (Shape{9, 2}));
  EXPECT_EQ(loaded.arrays[1].storage_kind(), StorageKind::kRowSparse);
  EXPECT_EQ(sparse::indices_of(loaded.arrays[1]).to_vector<int64_t>(), (std::vector<int64_t>{7}));
  EXPECT_EQ(serialize_record(loaded.arrays[1], false), sparse_record(9));
  std::string stale = sparse_record(9);
  stale[12] = 0;  // as MXNet may write the number of stored rows
  EXPECT_EQ(serialize_record(parse_record(stale, nullptr), false), sparse_record(9));
  const int64_t columns[] = {2, 0}, begin[] = {0, 2, 2};
  const NDArray csr = sparse::csr(counting({2}), NDArray::from_host(columns, {2}, DType::kInt64),
                                  NDArray::from_host(begin, {3}, DType::kInt64), {2, 3});
  const NDArray again = parse_record(serialize_record(csr, true), nullptr);
  EXPECT_EQ(again.storage_kind(), StorageKind::kCsr);
  EXPECT_EQ(sparse::values_of(again).to_vector<float>(), sparse::values_of(csr).to_vector<float>());
}

TEST(Serialize, SparseRecordsTakeNoMemoryForWhatIsNotStored) {
  EXPECT_EQ(parse_arrays(container({sparse_record(int64_t{1} << 40)})).arrays[0].shape()[0], int64_t{1} << 40);
  EXPECT_THROW(parse_arrays(container({sparse_record(7)})), Error);  // there is no row 7
}

TEST(Serialize, MissingFilesSayWhich) {
  try {
    load_arrays("/no/such/file");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/no/such/file"), std::string::npos);
  }
}

TEST(Serialize, ManyMayWriteOneFile) {
  const std::string path = own_path("written_by_many");
  const std::vector<float> values(50'000, 3);
  const std::vector<NDArray> arrays{NDArray::from(std::span(values), {50'000})};
  const std::vector<std::string> names{"x"};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 4; ++writer)
    threads.emplace_back([&] {
      for (int time = 0; time < 10; ++time) EXPECT_NO_THROW(save_arrays(path, arrays, names, false));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(load_arrays(path).arrays[0].to_vector<float>(), values);
  ::unlink(path.c_str());
}

TEST(Serialize, OtherKindsOfFilesAreRefused) {
  const std::string pipe = own_path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);  // nobody writes: opening it for reading waits
  for (const std::string& path : {std::string("/dev/zero"), std::string("/"), pipe})
    EXPECT_THROW(load_arrays(path), Error) << path;
  unlink(pipe.c_str());
}

}  // namespace
}  // namespace headrace
