// Every environment variable that the library reads, in one table (config.cc). Parsed once, at the first call of
// config(); immutable afterwards, so any thread may read it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace headrace {

// Sanitizers cannot look into code that is made at run time.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kNativeByDefault = false;
#else
inline constexpr bool kNativeByDefault = true;
#endif

enum class LogLevel : uint8_t { kError, kWarn, kInfo, kDebug };
inline constexpr std::array<const char*, 4> kLogLevelNames = {"error", "warn", "info", "debug"};

struct Config {
  bool serial_engine = false;      // run every task in the pushing thread
  bool errors_at_once = false;     // Python's functions wait for their results, and raise what went wrong
  int64_t workers = 0;             // threads that run tasks; 0: one per core
  int64_t spin_us = -1;            // how long an idle thread spins before it parks; -1: measured
  int64_t max_pending = 4096;      // queued tasks above which pushing helps instead of queueing
  int64_t lookahead = 16;          // how many tasks a task may begin before its turn; 0: any number
  int64_t max_pending_bytes = 0;   // host bytes held by queued tasks, likewise; 0: a quarter of the memory
  int64_t memory_watermark = 0;    // free pooled bytes below which nothing returns to the system; 0: half the memory
  bool memory_guard = false;       // blocks of host memory end at pages that cannot be touched; those of GPUs are apart
  int64_t sim_gpus = 0;            // simulated GPUs; 0: as many as the topology has, none without one
  std::string sim_topology;        // preset or file; empty: every GPU on one PCIe switch
  bool flush_denormals = false;    // denormal numbers are taken for zero
  bool sim_virtual_clock = false;  // a discrete-event clock instead of the real one
  bool sim_report = true;          // what a program on the virtual clock took is printed at its end
  int64_t sim_memory = 0;          // bytes of each simulated GPU; 0: 16 GiB
  bool sim_strict = false;         // what would go wrong on a real GPU ends the program
  std::string backends;            // libraries of backends that are loaded, with ':' between them
  std::optional<bool> cuda;  // whether NVIDIA's GPUs are used; unset: where there are some and nobody simulates GPUs
  std::string cuda_driver = "libcuda.so.1";  // NVIDIA's driver, a library
  std::string cuda_compiler;  // NVIDIA's compiler for kernels, a library; empty: NVRTC, where pip or the toolkit put it
  std::string cuda_cache;     // folder of compiled kernels; empty: in the user's cache folder
  std::string cuda_dnn;       // cuDNN, a library; empty: where pip or the toolkit put it
  std::string cuda_solver;    // cuSOLVER, a library; empty: where pip or the toolkit put it; "none": it is not used
  std::string cuda_nccl;      // NCCL, a library; empty: where pip or the system put it; "none": it is not used
  int64_t cuda_nccl_seconds = 120;  // that GPUs of several processes may take to connect, or for a sum
  // Which way of cuDNN's is fastest for a convolution: 0: the library says it, 1: it is tried, 2: among those that
  // round more, too.
  int64_t cuda_tuning = 0;
  bool cuda_determinism = true;    // what cuDNN does may not depend on the run
  bool cuda_graphs = false;        // GPUs repeat what compiled graphs have put on their streams before
  bool cuda_tf32 = false;          // factors of float32 products and convolutions may be rounded to TF32 on GPUs
  bool recomputation = false;      // backward computes cheap values of forward again, which take no memory until then
  bool fusion = true;              // queued and compiled operations are fused
  bool native = kNativeByDefault;  // formulas become machine code
  std::string topology;            // what connects the devices: a preset or a file; empty: they share one switch
  std::string machine;             // of this process, among ranks; empty: that whose memory it shares
  std::string trace_path;          // where the timeline is written at exit; empty: no tracing
  LogLevel log_level = LogLevel::kWarn;
  // What is done at exit about errors of operations that no wait has raised.
  enum class UnreadErrors : uint8_t { kReport, kFail, kIgnore } unread_errors = UnreadErrors::kReport;
};

struct ConfigVariable {
  const char* name;
  const char* default_text;
  const char* meaning;
};

// Raises Error(kValue), naming the variable, when one holds a text that cannot be read.
const Config& config();

// The table, for documentation and for `headrace.runtime`.
std::span<const ConfigVariable> config_variables();

// Reads the environment anew, for tests of the parser.
Config parse_config();

}  // namespace headrace
