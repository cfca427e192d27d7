// Data sets, loaders, and files that lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <headrace/headrace.hpp>
#include <iterator>
#include <ranges>
#include <vector>

#include "gluon/idx.h"
#include "tests/support/files.h"

namespace headrace::gluon::data {
namespace {

using ::testing::ElementsAre;

// A file that is removed at the end.
class File {
 public:
  explicit File(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }
  ~File() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_ = own_path("data.idx");
};

std::string zipped(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string result(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

std::string big_endian(uint32_t value) {
  std::string bytes;
  for (int shift : {24, 16, 8, 0}) bytes += static_cast<char>(value >> shift);
  return bytes;
}

std::string labels_file(uint32_t count, const std::string& values) {
  return big_endian(0x801) + big_endian(count) + values;
}

ErrorKind kind_of_reading(const std::string& bytes, size_t axes = 1) {
  File file(bytes);
  try {
    read_idx(file.path(), axes);
  } catch (const Error& error) {
    return error.kind();
  }
  ADD_FAILURE() << "nothing was raised";
  return ErrorKind::kRuntime;
}

TEST(Idx, ReadsPlainAndCompressedFiles) {
  const std::string bytes = labels_file(3, "\1\2\3");
  for (const std::string& content : {bytes, zipped(bytes)}) {
    File file(content);
    EXPECT_THAT(read_idx(file.path(), 1).to_vector<uint8_t>(), ElementsAre(1, 2, 3));
  }
}

TEST(Idx, DamagedFilesAreValueErrors) {
  const std::string good = labels_file(3, "abc"), packed = zipped(good);
  for (const std::string& bad :
       {std::string(), good.substr(0, 3), good.substr(0, 6), good.substr(0, 10), good + "d", "x" + good,
        packed.substr(0, 5), packed.substr(0, packed.size() - 9), packed.substr(0, 12) + "zzzz" + packed.substr(16)})
    EXPECT_EQ(kind_of_reading(bad), ErrorKind::kValue) << bad.size();
  EXPECT_EQ(kind_of_reading(good, 3), ErrorKind::kValue);
}

TEST(Idx, SizesThatTheFileCannotHoldAreRefusedBeforeAllocating) {
  EXPECT_EQ(kind_of_reading(labels_file(0xffffffff, "abc")), ErrorKind::kValue);
  EXPECT_EQ(kind_of_reading(zipped(labels_file(0xffffffff, "abc"))), ErrorKind::kValue);
  std::string cube = big_endian(0x803);
  for (int axis = 0; axis < 3; ++axis) cube += big_endian(0xffffffff);
  EXPECT_EQ(kind_of_reading(cube, 3), ErrorKind::kValue);
}

TEST(Idx, MissingFilesAndFoldersAreOsErrors) {
  for (const std::string& path : {std::string("/no/such/file"), ::testing::TempDir()}) {
    try {
      read_idx(path, 1);
      ADD_FAILURE() << path << " was read";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kOs) << error.what();
    }
  }
  const std::string pipe = own_path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);  // nobody writes: opening it for reading waits
  EXPECT_THROW(read_idx(pipe, 1), Error);
  unlink(pipe.c_str());
  EXPECT_THROW(vision::MNIST("/no/such/folder"), Error);
}

TEST(Digits, ComeWithThePackage) {
  vision::Digits train(HEADRACE_DIGITS), test(HEADRACE_DIGITS, false);
  EXPECT_EQ(train.all().data.shape(), (Shape{1500, 8, 8, 1}));
  EXPECT_EQ(train.all().data.dtype(), DType::kUint8);
  EXPECT_EQ(test.all().label.shape(), (Shape{297}));
  EXPECT_EQ(test.all().label.dtype(), DType::kInt32);
}

ArrayDataset count_to_ten() {
  NDArray numbers = nd::arange(0, {.stop = 10});
  return {numbers, numbers * 2};
}

TEST(DataLoader, GivesEverySampleOnceWithItsLabel) {
  DataLoader loader(count_to_ten(), 4, {.shuffle = true});
  EXPECT_EQ(loader.size(), 3);
  std::vector<float> first, seen;
  for (int pass = 0; pass < 2; ++pass) {
    first.swap(seen);
    seen.clear();
    for (auto [data, label] : loader) {
      EXPECT_EQ(label.to_vector<float>(), (data * 2).to_vector<float>());
      for (float value : data.to_vector<float>()) seen.push_back(value);
    }
  }
  EXPECT_NE(first, seen);  // a new order in every pass
  EXPECT_THAT(seen, ::testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(DataLoader, IsARange) {
  static_assert(std::ranges::input_range<const DataLoader>);
  const DataLoader loader(count_to_ten(), 4);
  EXPECT_EQ(std::distance(loader.begin(), loader.end()), 3);
  const std::vector<Batch> batches(loader.begin(), loader.end());
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_THAT(batches[2].data.to_vector<float>(), ElementsAre(8, 9));
}

TEST(DataLoader, MayLeaveOutTheLastBatch) {
  int batches = 0;
  for (auto [data, label] : DataLoader(count_to_ten(), 4, {.keep_last = false})) {
    EXPECT_THAT(data.to_vector<float>(), ElementsAre(batches * 4, batches * 4 + 1, batches * 4 + 2, batches * 4 + 3));
    ++batches;
  }
  EXPECT_EQ(batches, 2);
  EXPECT_THROW(DataLoader(count_to_ten(), 0), Error);
  EXPECT_THROW(ArrayDataset(np::ones({3}), np::ones({2})), Error);
}

}  // namespace
}  // namespace headrace::gluon::data
