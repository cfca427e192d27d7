#include "distributed/processes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace headrace::distributed {
namespace {

// A process that has named itself, and waits for its end.
class Child {
 public:
  Child() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    number_ = fork();
    if (number_ == 0) {
      const std::string own = own_process();
      if (::write(ends[1], own.data(), own.size()) != static_cast<ssize_t>(own.size())) _exit(1);
      while (true) pause();
    }
    char text[1000];
    const ssize_t size = ::read(ends[0], text, sizeof text);
    name_.assign(text, static_cast<size_t>(std::max<ssize_t>(size, 0)));
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~Child() { end(); }

  const std::string& name() const noexcept { return name_; }
  void kill() const { ::kill(number_, SIGKILL); }
  void end() {
    if (number_ <= 0) return;
    kill();
    waitpid(std::exchange(number_, 0), nullptr, 0);
  }

 private:
  pid_t number_;
  std::string name_;
};

TEST(ProcessesTest, OneThatRunsHasNotEnded) {
  EXPECT_FALSE(own_process().empty());
  EXPECT_EQ(own_process(), own_process());
  EXPECT_FALSE(has_ended(own_process()));
  const Child child;
  EXPECT_NE(child.name(), own_process());
  EXPECT_FALSE(has_ended(child.name()));
}

TEST(ProcessesTest, OneThatWasKilledHasEndedWhoeverWaitsForIt) {
  Child child;
  child.kill();
  while (!has_ended(child.name())) usleep(1000);
  child.end();
  EXPECT_TRUE(has_ended(child.name()));
}

TEST(ProcessesTest, ANumberThatAnotherProcessHasNowIsNotTheOne) {
  const std::string own = own_process();
  EXPECT_TRUE(has_ended(own.substr(0, own.rfind(' ')) + " 1"));
}

TEST(ProcessesTest, OneOfAnotherMachineCannotBeSeen) {
  Child child;
  child.end();
  EXPECT_FALSE(has_ended("other" + child.name()));
  EXPECT_FALSE(has_ended(""));
  EXPECT_FALSE(has_ended("nonsense"));
}

}  // namespace
}  // namespace headrace::distributed
