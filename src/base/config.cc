#include "base/config.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "base/bytes.h"
#include "base/check.h"
#include "base/machine.h"
#include "base/whole_number.h"

namespace headrace {
namespace {

struct Entry {
  ConfigVariable variable;
  void (*parse)(const char* name, std::string_view text, Config& config);
};

template <int64_t Config::*kField, int64_t kLeast>
void parse_integer(const char* name, std::string_view text, Config& config) {
  const auto value = whole_number<int64_t>(text);
  check(value && *value >= kLeast, ErrorKind::kValue,
        "{}: expected an integer of at least {}, got '{}'. Set a number or unset the variable.", name, kLeast, text);
  config.*kField = *value;
}

template <int64_t Config::*kField>
void parse_size(const char* name, std::string_view text, Config& config) {
  config.*kField = parse_bytes(text, name);
}

template <std::string Config::*kField>
void parse_text(const char*, std::string_view text, Config& config) {
  config.*kField = text;
}

void parse_engine(const char* name, std::string_view text, Config& config) {
  check(text == "threaded" || text == "serial", ErrorKind::kValue, "{}: expected threaded or serial, got '{}'.", name,
        text);
  config.serial_engine = text == "serial";
}

// MXNet's engine names: all threaded ones mean the one threaded engine here.
void parse_mxnet_engine(const char* name, std::string_view text, Config& config) {
  check(text == "NaiveEngine" || text == "ThreadedEngine" || text == "ThreadedEnginePerDevice", ErrorKind::kValue,
        "{}: expected NaiveEngine, ThreadedEngine or ThreadedEnginePerDevice, got '{}'.", name, text);
  if (text == "NaiveEngine") config.serial_engine = config.errors_at_once = true;
}

// A number, or several with ',' between them, of which the first is that of the outermost loops. OpenMP itself passes
// over what it cannot read.
void parse_openmp_threads(const char*, std::string_view text, Config& config) {
  const auto threads = whole_number<int64_t>(text.substr(0, text.find(',')));
  if (threads && *threads >= 1) config.workers = std::min<int64_t>(*threads, core_count());
}

template <auto member>
void parse_flag(const char* name, std::string_view text, Config& config) {
  check(text == "0" || text == "1", ErrorKind::kValue, "{}: expected 0 or 1, got '{}'.", name, text);
  config.*member = text == "1";
}

void parse_clock(const char* name, std::string_view text, Config& config) {
  check(text == "real" || text == "virtual", ErrorKind::kValue, "{}: expected real or virtual, got '{}'.", name, text);
  config.sim_virtual_clock = text == "virtual";
}

void parse_log_level(const char* name, std::string_view text, Config& config) {
  const auto* level = std::ranges::find(kLogLevelNames, text, [](const char* one) { return std::string_view(one); });
  check(level != kLogLevelNames.end(), ErrorKind::kValue, "{}: expected {}, got '{}'.", name,
        fmt::join(kLogLevelNames, ", "), text);
  config.log_level = static_cast<LogLevel>(level - kLogLevelNames.begin());
}

void parse_unread_errors(const char* name, std::string_view text, Config& config) {
  using enum Config::UnreadErrors;
  check(text == "report" || text == "fail" || text == "ignore", ErrorKind::kValue,
        "{}: expected report, fail or ignore, got '{}'.", name, text);
  config.unread_errors = text == "report" ? kReport : text == "fail" ? kFail : kIgnore;
}

// A later row wins where two set the same field.
constexpr Entry kTable[] = {
    {{"MXNET_ENGINE_TYPE", "ThreadedEngine",
      "NaiveEngine runs everything where it is stated, as HEADRACE_ENGINE=serial does, and Python's errors come from "
      "there"},
     parse_mxnet_engine},
    {{"HEADRACE_ENGINE", "threaded", "serial runs every task in the thread that pushes it"}, parse_engine},
    {{"OMP_NUM_THREADS", "",
      "threads that run tasks, where HEADRACE_WORKERS says nothing; no more than there are cores"},
     parse_openmp_threads},
    {{"HEADRACE_WORKERS", "0", "threads that run tasks; 0: one per core"}, parse_integer<&Config::workers, 0>},
    {{"HEADRACE_SPIN_US", "-1", "microseconds an idle thread spins before it parks; -1: measured at start"},
     parse_integer<&Config::spin_us, -1>},
    {{"HEADRACE_MAX_PENDING", "4096", "queued tasks above which pushing helps instead of queueing more"},
     parse_integer<&Config::max_pending, 1>},
    {{"HEADRACE_LOOKAHEAD", "16", "how many tasks earlier than its turn a task may begin; 0: any number"},
     parse_integer<&Config::lookahead, 0>},
    {{"HEADRACE_MAX_PENDING_BYTES", "0", "the same for host bytes of queued tasks; 0: a quarter of the memory"},
     parse_size<&Config::max_pending_bytes>},
    {{"HEADRACE_MEMORY_WATERMARK", "0", "free pooled bytes below which none return to the system; 0: half the memory"},
     parse_size<&Config::memory_watermark>},
    {{"HEADRACE_MEMORY_GUARD", "0",
      "1: kernels that touch host memory beyond their arrays end the program, which is slow, and each array of a GPU "
      "has "
      "memory of its own, for compute-sanitizer; see docs/adding-an-operator.md"},
     parse_flag<&Config::memory_guard>},
    {{"HEADRACE_FUSION", "1",
      "whether queued and compiled operations are fused into single passes over memory; 0 or 1"},
     parse_flag<&Config::fusion>},
    {{"MXNET_BACKWARD_DO_MIRROR", "0",
      "1: hybridized networks keep less memory for backward, which computes pointwise operations and batch "
      "normalisations once more instead; no result changes"},
     parse_flag<&Config::recomputation>},
    {{"HEADRACE_NATIVE", kNativeByDefault ? "1" : "0",
      "whether pointwise operations become machine code where the processor is known; 0 or 1"},
     parse_flag<&Config::native>},
    {{"HEADRACE_FLUSH_DENORMALS", "0",
      "1: numbers too small for all their digits (below 1.2e-38 in float32) are taken for zero, in the thread that "
      "computes first and in the engine's; see docs/performance.md"},
     parse_flag<&Config::flush_denormals>},
    {{"HEADRACE_SIM_GPUS", "0", "simulated GPUs, for machines without real ones; 0: as many as the topology has"},
     parse_integer<&Config::sim_gpus, 0>},
    {{"HEADRACE_SIM_TOPOLOGY", "",
      "what links simulated GPUs: pcie4, p3, another preset, or a file; see docs/planner.md"},
     parse_text<&Config::sim_topology>},
    {{"HEADRACE_SIM_CLOCK", "real", "real: copies take their modelled time; virtual: a discrete-event clock counts"},
     parse_clock},
    {{"HEADRACE_REPORT", "1",
      "whether a program prints what it took, and why, at its end when HEADRACE_SIM_CLOCK is virtual; 0 or 1"},
     parse_flag<&Config::sim_report>},
    {{"HEADRACE_SIM_MEMORY", "0", "memory of each simulated GPU, in bytes or as in 4GB; 0: 16 GiB"},
     parse_size<&Config::sim_memory>},
    {{"HEADRACE_SIM_STRICT", "0",
      "1: simulated GPUs run late and end the program where the host touches their memory, see docs/devices.md"},
     parse_flag<&Config::sim_strict>},
    {{"HEADRACE_BACKENDS", "", "libraries of backends that are loaded, with ':' between them; see docs/devices.md"},
     parse_text<&Config::backends>},
    {{"HEADRACE_CUDA", "",
      "1: NVIDIA's GPUs are used, 0: they are not; empty: they are where there are some and none are simulated, see "
      "docs/cuda.md"},
     parse_flag<&Config::cuda>},
    {{"HEADRACE_CUDA_DRIVER", "libcuda.so.1", "the library that is NVIDIA's driver, see docs/cuda.md"},
     parse_text<&Config::cuda_driver>},
    {{"HEADRACE_CUDA_COMPILER", "",
      "the library that compiles kernels; empty: NVRTC where pip or CUDA's toolkit put it"},
     parse_text<&Config::cuda_compiler>},
    {{"HEADRACE_CUDA_CACHE", "", "folder of compiled kernels; empty: headrace/cuda in the user's cache folder"},
     parse_text<&Config::cuda_cache>},
    {{"HEADRACE_CUDA_DNN", "", "the library that is cuDNN; empty: where pip or CUDA's toolkit put it"},
     parse_text<&Config::cuda_dnn>},
    {{"HEADRACE_CUDA_SOLVER", "",
      "the library that is cuSOLVER; empty: where pip or CUDA's toolkit put it; none: the host decomposes matrices"},
     parse_text<&Config::cuda_solver>},
    {{"HEADRACE_CUDA_NCCL", "",
      "the library that is NCCL; empty: where pip or the system put it; none: GPUs sum by copies from each other"},
     parse_text<&Config::cuda_nccl>},
    {{"HEADRACE_CUDA_NCCL_SECONDS", "120",
      "how long GPUs of several processes may take to connect, or for a sum, before it fails"},
     parse_integer<&Config::cuda_nccl_seconds, 1>},
    {{"MXNET_CUDNN_AUTOTUNE_DEFAULT", "0",
      "1: each new convolution tries which of cuDNN's ways is fastest on the GPU; results may differ in the last "
      "places from one process to the next; 2: the same, among FFTs and Winograd's large tiles, too, which round more"},
     parse_integer<&Config::cuda_tuning, 0>},
    {{"MXNET_ENFORCE_DETERMINISM", "1",
      "0: convolutions of cuDNN may sum in an order that changes from run to run, which is faster"},
     parse_flag<&Config::cuda_determinism>},
    {{"MXNET_ENABLE_CUDA_GRAPHS", "0",
      "1: NVIDIA's GPUs repeat what a hybridized network has launched before, with its memory, by one call of the "
      "driver, see docs/cuda.md"},
     parse_flag<&Config::cuda_graphs>},
    {{"MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION", "0",
      "1: factors of float32 products and convolutions are rounded to TF32 on NVIDIA's GPUs, which is faster"},
     parse_flag<&Config::cuda_tf32>},
    {{"HEADRACE_TOPOLOGY", "", "what connects the devices: a preset or a file of docs/planner.md; empty: one switch"},
     parse_text<&Config::topology>},
    {{"HEADRACE_MACHINE", "",
      "name of this machine, for ranks that sum without servers; empty: ranks that share memory are on one"},
     parse_text<&Config::machine>},
    {{"HEADRACE_TIMELINE", "", "file that receives the timeline of the whole run at exit (Chrome trace format)"},
     parse_text<&Config::trace_path>},
    {{"HEADRACE_UNREAD_ERRORS", "report",
      "errors of operations whose results nobody waited for, at exit: report prints them, fail also makes the exit "
      "status 1, ignore says nothing"},
     parse_unread_errors},
    {{"HEADRACE_LOG", "warn", "least severe message that is printed: error, warn, info or debug"}, parse_log_level},
};

constexpr auto kVariables = [] {
  std::array<ConfigVariable, std::size(kTable)> variables{};
  for (size_t i = 0; i < variables.size(); ++i) variables[i] = kTable[i].variable;
  return variables;
}();

}  // namespace

Config parse_config() {
  Config result;
  for (const Entry& entry : kTable) {
    const char* text = std::getenv(entry.variable.name);
    if (text && *text) entry.parse(entry.variable.name, text, result);
  }
  return result;
}

const Config& config() {
  static const Config& instance = *new Config(parse_config());
  return instance;
}

std::span<const ConfigVariable> config_variables() { return kVariables; }

}  // namespace headrace
