#include "kvstore/mxnet_variables.h"

#include <cstdlib>
#include <mutex>
#include <string_view>

#include "base/log.h"
#include "headrace/distributed.hpp"

namespace headrace::kvstore {
namespace {

constexpr const char* kOfPlans =
    "plans of 'device' stores follow from a model of the links (docs/planner.md), which HEADRACE_TOPOLOGY describes";

constexpr MxnetVariable kMxnetVariables[] = {
    {"MXNET_KVSTORE_REDUCTION_NTHREADS", "4",
     "all threads of the engine may take part in a sum; HEADRACE_WORKERS says how many there are"},
    {"MXNET_KVSTORE_USETREE", "0",
     "a 'device' store sums along trees where these are fastest, and always with the option strategy='tree' of "
     "kv.create"},
    {"MXNET_KVSTORE_LOGTREE", "0", "python -m headrace.plan shows plans (docs/planner.md)"},
    {"MXNET_KVSTORE_TREE_ARRAY_BOUND", "10000000", kOfPlans},
    {"MXNET_KVSTORE_TREE_BACKTRACK", "0", kOfPlans},
    {"MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY", "0.7", kOfPlans},
    {"MXNET_KVSTORE_SLICE_THRESHOLD", "40000",
     "there is no P3; MXNET_KVSTORE_BIGARRAY_BOUND says which arrays are shared among all servers"},
    {"MXNET_KVSTORE_DIST_ROW_SPARSE_VERBOSE", "0", "PS_VERBOSE=2 shows all messages of workers and servers"},
    {"MXNET_ENABLE_GPU_P2P", "1",
     "GPUs copy from each other directly where their driver can; NCCL_P2P_DISABLE=1 keeps NCCL from doing so"},
    {"DMLC_PS_VAN_TYPE", "zmq", "gRPC carries what processes say to each other"},
};

// Whether this process is the one of its job that says what is true of all.
bool is_to_say() {
  const distributed::Role role = distributed::role_of_process();
  const char* const number = std::getenv("DMLC_WORKER_ID");
  return role == distributed::Role::kNone ||
         (role == distributed::Role::kWorker && (!number || std::string_view(number) == "0"));
}

}  // namespace

std::span<const MxnetVariable> mxnet_variables() { return kMxnetVariables; }

std::vector<std::string> texts_of_unheeded() {
  std::vector<std::string> texts;
  for (const MxnetVariable& one : kMxnetVariables) {
    const char* const value = std::getenv(one.name);
    if (value && *value && std::string_view(value) != one.usual)
      texts.push_back(fmt::format("{}={} changes nothing: {}", one.name, value, one.instead));
  }
  return texts;
}

void warn_of_unheeded() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (!is_to_say()) return;
    for (const std::string& text : texts_of_unheeded()) log(LogLevel::kWarn, "kvstore create: {}", text);
  });
}

}  // namespace headrace::kvstore
