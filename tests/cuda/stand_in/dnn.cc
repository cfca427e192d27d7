// The functions of cuDNN that headrace's plug-in asks for (backend/cuda/dnn_library.h). Convolutions are computed on
// the host when their stream has come to them; what breaks the library's contract ends the process. Of what is proposed
// for a convolution only the last may be used where nothing else is allowed, and there is nothing for windows of 7
// elements.
#if __has_include(<cudnn_graph.h>)

#include <algorithm>
#include <atomic>
#include <utility>

#include "tests/cuda/stand_in/dnn_descriptor.h"
#include "tests/cuda/stand_in/dnn_handle.h"
#include "tests/cuda/stand_in/elements.h"

namespace stand_in {
namespace {

constexpr int64_t kWorkspace = 4096, kGreedyWorkspace = int64_t{1} << 30;

std::atomic<uint64_t> executed{0};

std::vector<Engine> engines_for(const Convolution& c, cudnnBackendHeurMode_t mode) {
  if (std::find(c.w.shape.begin() + 2, c.w.shape.end(), 7) != c.w.shape.end()) return {Engine::kRandom};
  if (mode == CUDNN_HEUR_MODE_FALLBACK) return {Engine::kPlain};
  if (mode != CUDNN_HEUR_MODE_A) violation("cuDNN: heuristics of mode %d", mode);
  return {Engine::kRandom,  Engine::kTensorCore,  Engine::kRounding,
          Engine::kFourier, Engine::kWithoutCode, Engine::kGreedy};
}

std::vector<cudnnBackendNumericalNote_t> notes_of(Engine engine) {
  switch (engine) {
    case Engine::kRandom:
      return {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC};
    case Engine::kTensorCore:
      return {CUDNN_NUMERICAL_NOTE_TENSOR_CORE};
    case Engine::kRounding:
      return {CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS};
    case Engine::kFourier:
      return {CUDNN_NUMERICAL_NOTE_FFT};
    default:
      return {};
  }
}

bool is_allowed(const Descriptor& plan) {
  switch (plan.engine) {
    case Engine::kPlain:
      return true;
    case Engine::kTensorCore:  // for float32 it rounds to TF32
      return plan.convolution.x.type != CUDNN_DATA_FLOAT || may_round_to_tf32();
    case Engine::kRandom:
      return is_set("MXNET_ENFORCE_DETERMINISM", "0");
    case Engine::kFourier:
      return is_set("MXNET_CUDNN_AUTOTUNE_DEFAULT", "2");
    default:
      return false;
  }
}

cudnnStatus_t finish(Descriptor& own) {
  require_values(own);
  switch (own.type) {
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      own.handle = own.one<cudnnHandle_t>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
      own.convolution = convolution_of(own);
      break;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      own.convolution =
          own.other(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR).convolution;
      break;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: {
      const Descriptor& config = own.other(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
      if (config.engine == Engine::kWithoutCode) return CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH;
      own.handle = own.one<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
      own.convolution = config.convolution;
      own.engine = config.engine;
      break;
    }
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      violation("cuDNN: a descriptor of type %d, which the library fills, is finalized", own.type);
    default:
      break;
  }
  own.is_finished = true;
  return CUDNN_STATUS_SUCCESS;
}

template <class T>
void answer(const std::vector<T>& all, int64_t room, int64_t* count, void* values) {
  *count = static_cast<int64_t>(all.size());
  if (values) std::copy_n(all.begin(), std::min(*count, room), static_cast<T*>(values));
}

// Has descriptors that the caller made stand for these.
void fill(const Descriptor& from, const std::vector<Engine>& engines, cudnnBackendDescriptorType_t type, int64_t room,
          int64_t* count, void* values) {
  *count = static_cast<int64_t>(engines.size());
  if (!values) return;
  *count = std::min(*count, room);
  for (int64_t i = 0; i < *count; ++i) {
    Descriptor& made = live_descriptor(static_cast<cudnnBackendDescriptor_t*>(values)[i], "cudnnBackendGetAttribute");
    if (made.type != type || made.is_finished) violation("cudnnBackendGetAttribute: into another descriptor");
    made.convolution = from.convolution;
    made.engine = engines[static_cast<size_t>(i)];
    made.is_finished = true;
  }
}

}  // namespace

}  // namespace stand_in

using namespace stand_in;

#define STAND_IN_API extern "C" [[gnu::visibility("default")]]

// For tests: how many convolutions this library was given.
STAND_IN_API uint64_t stand_in_convolutions() { return executed.load(); }

STAND_IN_API size_t cudnnGetVersion() { return CUDNN_VERSION; }

STAND_IN_API const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_SUCCESS ? "CUDNN_STATUS_SUCCESS" : "CUDNN_STATUS_EXECUTION_FAILED";
}

STAND_IN_API cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  Context& context = machine().needed("cudnnCreate");
  if (machine().enter("cudnnCreate") != CUDA_SUCCESS) return CUDNN_STATUS_NOT_INITIALIZED;
  *handle = new cudnnContext{&context, nullptr};
  return CUDNN_STATUS_SUCCESS;
}

STAND_IN_API cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = reinterpret_cast<Stream*>(stream);
  if (!stream || &handle->stream->context() != handle->context)
    violation("cudnnSetStream: stream and handle are not of one device");
  return CUDNN_STATUS_SUCCESS;
}

STAND_IN_API cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                                        cudnnBackendDescriptor_t* descriptor) {
  *descriptor = make_descriptor(type);
  return CUDNN_STATUS_SUCCESS;
}

STAND_IN_API cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  destroy_descriptor(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

STAND_IN_API cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                                    cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                                    int64_t count, const void* values) {
  set_value(live_descriptor(descriptor, "cudnnBackendSetAttribute"), name, type, count, values);
  return CUDNN_STATUS_SUCCESS;
}

STAND_IN_API cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  return finish(live_descriptor(descriptor, "cudnnBackendFinalize"));
}

STAND_IN_API cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor,
                                                    cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                                    int64_t room, int64_t* count, void* values) {
  const Descriptor& own = live_descriptor(descriptor, "cudnnBackendGetAttribute");
  if (!own.is_finished) violation("cudnnBackendGetAttribute: the descriptor is not finalized");
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS && own.type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR)
    fill(own, engines_for(own.convolution, own.one<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE)),
         CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, room, count, values);
  else if (name == CUDNN_ATTR_ENGINECFG_ENGINE && own.type == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)
    fill(own, {own.engine}, CUDNN_BACKEND_ENGINE_DESCRIPTOR, room, count, values);
  else if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && type == CUDNN_TYPE_NUMERICAL_NOTE)
    answer(notes_of(own.engine), room, count, values);
  else if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && type == CUDNN_TYPE_INT64)
    answer<int64_t>({own.engine == Engine::kGreedy ? kGreedyWorkspace : kWorkspace}, room, count, values);
  else
    violation("cudnnBackendGetAttribute: attribute %d is not known here", name);
  return CUDNN_STATUS_SUCCESS;
}

STAND_IN_API cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan_handle,
                                               cudnnBackendDescriptor_t pack_handle) {
  const Descriptor& plan = live_descriptor(plan_handle, "cudnnBackendExecute");
  const Descriptor& pack = live_descriptor(pack_handle, "cudnnBackendExecute");
  if (&machine().needed("cudnnBackendExecute") != handle->context || !handle->stream || plan.handle != handle)
    violation("cudnnBackendExecute: stream, plan, handle and context are not of one device");
  if (plan.type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR || pack.type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR ||
      !plan.is_finished || !pack.is_finished)
    violation("cudnnBackendExecute: no plan, or no pack");
  if (machine().enter("cudnnBackendExecute") != CUDA_SUCCESS) return CUDNN_STATUS_EXECUTION_FAILED;
  if (!is_allowed(plan)) violation("cuDNN: an engine was chosen that nobody allowed");
  const auto ids = pack.all<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = pack.all<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  if (ids.size() != 3 || pointers.size() != 3) violation("cudnnBackendExecute: %zu tensors", ids.size());
  void* const workspace = pack.one<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  on_device(*handle, "cudnnBackendExecute", "workspace", workspace, kWorkspace, 16);
  std::vector<CUdeviceptr> uses{reinterpret_cast<CUdeviceptr>(workspace)};
  const auto find = [&](const char* which, const Tensor& tensor) {
    const auto place = std::find(ids.begin(), ids.end(), tensor.id);
    if (place == ids.end()) violation("cudnnBackendExecute: %s is not among the tensors", which);
    void* const pointer = pointers[static_cast<size_t>(place - ids.begin())];
    uses.push_back(reinterpret_cast<CUdeviceptr>(pointer));
    return on_device(*handle, "cudnnBackendExecute", which, pointer, bytes_of(tensor), tensor.alignment);
  };
  const Convolution& convolution = plan.convolution;
  char* const x = find("x", convolution.x);
  char* const w = find("w", convolution.w);
  char* const y = find("y", convolution.y);
  ++executed;
  handle->stream->put(std::move(uses), [convolution, x, w, y] { compute(convolution, x, w, y); });
  return CUDNN_STATUS_SUCCESS;
}

#endif
