#include "distributed/processes.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <climits>
#include <fstream>
#include <sstream>
#include <string>

namespace headrace::distributed {
namespace {

// The machine since it was started, and the numbers of processes there.
std::string own_machine() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  char numbers[PATH_MAX];
  const ssize_t size = readlink("/proc/self/ns/pid", numbers, sizeof numbers);
  if (boot.empty() || size <= 0) return {};
  return boot + "/" + std::string(numbers, static_cast<size_t>(size));
}

struct State {
  char letter = '?';
  std::string begun;  // when, in ticks since the machine was started; empty: it cannot be seen
};

State state_of(pid_t process) {
  std::ostringstream text;
  text << std::ifstream(fmt::format("/proc/{}/stat", process)).rdbuf();
  const std::string all = text.str();
  const size_t name_end = all.rfind(')');  // the name may hold anything
  if (name_end == all.npos) return {};
  State state;
  std::istringstream fields(all.substr(name_end + 1));
  fields >> state.letter;
  constexpr int kBetween = 18;  // fields from the state to the time of the start
  for (int i = 0; i <= kBetween; ++i) fields >> state.begun;
  return state;
}

}  // namespace

std::string own_process() {
  const std::string machine = own_machine();
  return machine.empty() ? machine : fmt::format("{} {} {}", machine, getpid(), state_of(getpid()).begun);
}

bool has_ended(const std::string& process) {
  std::istringstream fields(process);
  std::string machine, begun;
  pid_t number = 0;
  if (!(fields >> machine >> number >> begun) || number <= 0 || machine != own_machine()) return false;
  if (kill(number, 0) != 0 && errno == ESRCH) return true;
  const State state = state_of(number);
  return !state.begun.empty() && (state.begun != begun || state.letter == 'Z' || state.letter == 'X');
}

}  // namespace headrace::distributed
