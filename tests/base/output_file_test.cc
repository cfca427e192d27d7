#include "base/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/files.h"
#include "tests/support/raised.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

class Output : public testing::Test {
 protected:
  Output() { fs::create_directory(folder_); }
  ~Output() override { fs::remove_all(folder_); }

  std::string path(const char* name) const { return folder_ + "/" + name; }
  size_t count() const { return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {})); }
  static void put(const std::string& path, std::string_view bytes) { std::ofstream(path) << bytes; }
  static std::string content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void replace(const std::string& path, std::string_view bytes) {
    OutputFile file(path);
    file.reserve(bytes.size());
    file.write(bytes);
    file.commit();
  }

  const std::string folder_ = own_path("output");
};

TEST_F(Output, TakesThePlaceOfAnotherWhenItIsComplete) {
  put(path("file"), "old");
  {
    OutputFile file(path("file"));
    file.write("new");
    EXPECT_EQ(content(path("file")), "old");
  }
  EXPECT_EQ(content(path("file")), "old");
  EXPECT_EQ(count(), 1u);
  replace(path("file"), "new");
  replace(path("other"), "first");
  EXPECT_EQ(content(path("file")), "new");
  EXPECT_EQ(content(path("other")), "first");
  EXPECT_EQ(count(), 2u);
}

TEST_F(Output, WhoHoldsAnEmptyFileReadsWhatIsWritten) {
  put(path("file"), "");
  const int held = ::open(path("file").c_str(), O_RDONLY | O_CLOEXEC);
  replace(path("file"), "new");
  char read[4] = {};
  EXPECT_EQ(::read(held, read, sizeof(read)), 3);
  EXPECT_STREQ(read, "new");
  ::close(held);
}

TEST_F(Output, PermissionsLinksAndOtherNamesStay) {
  put(path("file"), "old");
  ::chmod(path("file").c_str(), 0640);
  fs::create_symlink("file", path("link"));
  replace(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content(path("file")), "new");
  EXPECT_EQ(static_cast<int>(fs::status(path("file")).permissions()), 0640);
  fs::create_hard_link(path("file"), path("name"));
  replace(path("name"), "newest");
  EXPECT_EQ(content(path("file")), "newest");
  EXPECT_EQ(count(), 3u);
}

TEST_F(Output, LinksLeadToFilesThatAreNotThereYet) {
  fs::create_symlink("second", path("first"));
  fs::create_symlink(fs::absolute(path("file")), path("second"));
  replace(path("first"), "new");
  EXPECT_TRUE(fs::is_symlink(path("first")) && fs::is_symlink(path("second")));
  EXPECT_EQ(content(path("file")), "new");
  EXPECT_EQ(count(), 3u);
  fs::create_symlink("circle", path("circle"));
  EXPECT_THROW(replace(path("circle"), "new"), Error);
}

TEST_F(Output, SaysWhichFileItCannotOpen) {
  for (const std::string& name : {path("none/file"), folder_}) {
    const Error error = test::raised_by([&] { OutputFile file(name); });
    EXPECT_NE(std::string(error.what()).find("Open \"" + name + "\""), std::string::npos) << error.what();
  }
  EXPECT_EQ(count(), 0u);
}

}  // namespace
}  // namespace headrace
