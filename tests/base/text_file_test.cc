#include "base/text_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "headrace/error.hpp"
#include "tests/support/files.h"

namespace headrace {
namespace {

class TextFile : public testing::Test {
 protected:
  ~TextFile() override { std::filesystem::remove(path_); }
  const std::string path_ = own_path("text");
};

std::string read_refusal(const std::string& path, size_t most_bytes = 100) {
  try {
    read_text_file(path, most_bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kOs);
    return error.what();
  }
  return "";
}

TEST_F(TextFile, IsReadWholeOrNotAtAll) {
  const std::string text(100000, 'a');
  std::ofstream(path_) << text;
  EXPECT_EQ(read_text_file(path_, text.size()), text);
  EXPECT_EQ(read_refusal(path_, text.size() - 1), "it has more than 99999 bytes");
  std::ofstream(path_).flush();
  EXPECT_EQ(read_text_file(path_, 0), "");
}

TEST_F(TextFile, OtherKindsOfFilesAreRefused) {
  EXPECT_EQ(read_refusal("/dev/zero"), "it is not a regular file");
  EXPECT_EQ(read_refusal("/"), "it is not a regular file");
  EXPECT_EQ(read_refusal("/no/such/file"), "No such file or directory");
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);  // nobody writes: opening it for reading waits
  EXPECT_EQ(read_refusal(path_), "it is not a regular file");
}

}  // namespace
}  // namespace headrace
