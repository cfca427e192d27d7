// The main program of a fuzz target where there is no libFuzzer. A child process runs the inputs; its parent sees how
// it ends, and ends it when an input takes too long. An input that ends the child is written to a file.
//
// Inputs are the target's own seeds and the files and folders that are named, then what --limits and --runs make of
// them. The first fault is the last input, unless --faults asks for more. An input may use kMostSeconds of processor
// time, and the process may not grow by more than kMostBytes.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/attack/fuzz/fuzz.h"
#include "tests/attack/fuzz/mutate.h"

// Read by AddressSanitizer when it starts, by name. Freed memory is kept back for a while, but counts for us.
extern "C" const char* __asan_default_options() { return "max_allocation_size_mb=512:quarantine_size_mb=16"; }

namespace headrace::fuzz {
namespace {

constexpr double kMostSeconds = 5, kMostIdleSeconds = 60;
constexpr int64_t kMostBytes = int64_t{512} << 20;
constexpr uint64_t kHardLimit = uint64_t{4} << 30;  // of address space, so that the machine survives what goes wrong

struct Arguments {
  uint64_t seed = 1;
  int64_t runs = 0;
  int faults = 1;
  bool limits = false;
  bool only_files = false;    // no seeds
  std::string corpus_folder;  // where to write the corpus; empty: run it
  std::vector<std::string> files;
};

// Memory that the parent shares with the child: what runs now.
struct Current {
  std::atomic<uint64_t> number;
  size_t size;
  char bytes[size_t{1} << 20];
};

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.size() > sizeof(Current::bytes)) bytes.resize(sizeof(Current::bytes));
  return bytes;
}

void add_to_corpus(std::vector<std::string>& corpus, const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return corpus.push_back(content(path));
  std::vector<std::filesystem::path> files(std::filesystem::directory_iterator(path), {});
  std::ranges::sort(files);
  for (const auto& file : files) add_to_corpus(corpus, file);
}

Arguments arguments_of(int count, char** texts) {
  Arguments given;
  for (int i = 1; i < count; ++i) {
    const std::string text = texts[i];
    const auto next = [&] {
      expect(i + 1 < count, "an option has no value");
      return texts[++i];
    };
    if (text == "--seed") {
      given.seed = std::strtoull(next(), nullptr, 10);
    } else if (text == "--runs") {
      given.runs = std::strtoll(next(), nullptr, 10);
    } else if (text == "--faults") {
      given.faults = std::atoi(next());
    } else if (text == "--limits") {
      given.limits = true;
    } else if (text == "--write-corpus") {
      given.corpus_folder = next();
    } else if (text == "--only-files") {
      given.only_files = true;
    } else {
      expect(std::filesystem::exists(text),
             "usage: [--seed N] [--runs N] [--faults N] [--limits] [--only-files] [--write-corpus FOLDER] [FILE or "
             "FOLDER]...");
      given.files.push_back(text);
    }
  }
  return given;
}

std::vector<std::string> corpus_of(const Arguments& given) {
  std::vector<std::string> corpus;
  if (!given.only_files) corpus = seeds();
  for (const std::string& file : given.files) add_to_corpus(corpus, file);
  return corpus;
}

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void write_corpus(const std::vector<std::string>& corpus, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (size_t i = 0; i < corpus.size(); ++i) write_file(folder / ("seed" + std::to_string(i)), corpus[i]);
}

// The most memory that this process ever used.
int64_t peak_bytes() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return int64_t{used.ru_maxrss} * 1024;
}

void limit_address_space() {
  std::ifstream file("/proc/self/statm");
  uint64_t pages = 0;
  file >> pages;
  const rlim_t bytes = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + kHardLimit;
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
}

// --- the child -------------------------------------------------------------------------------------------------------

class Child {
 public:
  // Passes over the first `begin` inputs.
  Child(Current& current, uint64_t begin) : current_(current), left_out_(begin) {}

  void run_all(const Arguments& given) {
    const std::vector<std::string> corpus = corpus_of(given);
    for (const std::string& input : corpus) run(input);
    most_bytes_ = peak_bytes() + kMostBytes;
    limit_address_space();
    if (given.limits)
      for (const std::string& input : corpus) each_at_limits(input, [this](const std::string& one) { run(one); });
    std::mt19937_64 random(given.seed);
    for (int64_t i = 0; i < given.runs; ++i) run(mutated(corpus, random));
  }

 private:
  void run(std::string_view input) {
    if (left_out_ > 0) return void(--left_out_);
    // A block of exactly this size, so that AddressSanitizer sees what is read behind it.
    const std::vector<uint8_t> bytes(input.begin(), input.end());
    current_.size = bytes.size();
    std::memcpy(current_.bytes, input.data(), input.size());
    current_.number.fetch_add(1);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    expect(most_bytes_ == 0 || peak_bytes() <= most_bytes_, "the input took more memory than it may");
  }

  Current& current_;
  uint64_t left_out_;
  int64_t most_bytes_ = 0;  // 0: the first inputs, which load what everything needs
};

// --- the parent ------------------------------------------------------------------------------------------------------

using Clock = std::chrono::steady_clock;

double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Returns when the child has closed its end of the pipe; ends the child when it is too long at one input.
void watch(pid_t child, int pipe_end, const Current& current) {
  clockid_t used;
  clock_getcpuclockid(child, &used);
  uint64_t number = ~uint64_t{0};
  double used_before = 0;
  Clock::time_point begin;
  pollfd event{pipe_end, POLLIN, 0};
  while (poll(&event, 1, 200) == 0) {
    if (current.number.load() != number) {
      number = current.number.load();
      used_before = seconds_of(used);
      begin = Clock::now();
      continue;
    }
    const double idle = std::chrono::duration<double>(Clock::now() - begin).count();
    if (seconds_of(used) - used_before < kMostSeconds && idle < kMostIdleSeconds) continue;
    std::fprintf(stderr, "fuzz: the input takes more than %g seconds of processor time, or waits for ever\n",
                 kMostSeconds);
    kill(child, SIGABRT);
    return;
  }
}

void report(int status, const Current& current, const char* program) {
  const std::string_view input(current.bytes, current.size);
  const auto path = std::filesystem::absolute(std::filesystem::path(program).filename().string() + "-" +
                                              std::to_string(std::hash<std::string_view>()(input)));
  write_file(path, input);
  std::fprintf(stderr, "fuzz: input %llu ended the process (%s %d): %s\nAgain: %s --only-files %s\n",
               static_cast<unsigned long long>(current.number.load()), WIFSIGNALED(status) ? "signal" : "status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), path.c_str(), program, path.c_str());
}

// Whether a child ran all inputs that come after the current one.
bool run_in_child(const Arguments& given, const char* program, Current& current) {
  int ends[2];
  expect(pipe2(ends, O_CLOEXEC) == 0, "pipe failed");
  const pid_t child = fork();
  expect(child >= 0, "fork failed");
  if (child == 0) {
    close(ends[0]);
    Child(current, current.number.load()).run_all(given);
    std::exit(0);
  }
  close(ends[1]);
  watch(child, ends[0], current);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  report(status, current, program);
  return false;
}

int run(const Arguments& given, const char* program) {
  void* shared = mmap(nullptr, sizeof(Current), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  expect(shared != MAP_FAILED, "mmap failed");
  auto& current = *new (shared) Current{};
  int faults = 0;
  while (faults < given.faults && !run_in_child(given, program, current)) ++faults;
  std::printf("%s: %llu inputs, %d faults\n", program, static_cast<unsigned long long>(current.number.load()), faults);
  return faults > 0;
}

}  // namespace
}  // namespace headrace::fuzz

int main(int count, char** texts) {
  using namespace headrace::fuzz;
  const Arguments given = arguments_of(count, texts);
  if (given.corpus_folder.empty()) return run(given, texts[0]);
  write_corpus(corpus_of(given), given.corpus_folder);
  return 0;
}
