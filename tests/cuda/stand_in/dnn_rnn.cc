// The functions of cuDNN for recurrent layers that headrace's plug-in asks for (backend/cuda/dnn_rnn_plan.h). Layers
// are computed on the host when their stream has come to them; what breaks the library's contract ends the process.
// There is no plan for layers of 7 hidden values.
#if __has_include(<cudnn_adv.h>)

#include "tests/cuda/stand_in/dnn_rnn.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <type_traits>

#include "tests/cuda/stand_in/dnn_handle.h"
#include "tests/cuda/stand_in/elements.h"
#include "tests/cuda/stand_in/machine.h"

struct cudnnTensorStruct {
  bool is_set = false;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int> shape = {}, strides = {};
};
struct cudnnDropoutStruct {
  bool is_set = false;
};
struct cudnnRNNStruct {
  bool is_set = false;
  stand_in::RnnLayers layers = {};
};
struct cudnnRNNDataStruct {
  bool is_set = false;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int64_t steps = 0, batch = 0, size = 0;
  std::vector<int> lengths = {};
};

namespace stand_in {
namespace {

constexpr size_t kRnnWorkspace = 8192;

std::atomic<uint64_t> passes{0};

// Descriptors that were made and not destroyed.
struct LiveOnes {
  std::mutex mutex;
  std::set<const void*> all;  // guarded by mutex
};
LiveOnes& live_ones() {
  static auto& made = *new LiveOnes;
  return made;
}

template <class Struct>
cudnnStatus_t create(Struct** handle) {
  *handle = new Struct;
  const std::lock_guard guard(live_ones().mutex);
  live_ones().all.insert(*handle);
  return CUDNN_STATUS_SUCCESS;
}

template <class Struct>
cudnnStatus_t destroy(Struct* handle, const char* call) {
  const std::lock_guard guard(live_ones().mutex);
  if (live_ones().all.erase(handle) == 0) violation("%s: no such descriptor", call);
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}

template <class Struct>
Struct& live(Struct* handle, const char* call) {
  const std::lock_guard guard(live_ones().mutex);
  if (!live_ones().all.contains(handle)) violation("%s: no such descriptor", call);
  return *handle;
}

template <class Struct>
const Struct& ready(Struct* handle, const char* call) {
  const Struct& made = live(handle, call);
  if (!made.is_set) violation("%s: a descriptor was not set", call);
  return made;
}

// What all passes are told, checked and found.
class Pass {
 public:
  Pass(const char* call, cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, const int32_t* lengths,
       cudnnRNNDataDescriptor_t x, cudnnRNNDataDescriptor_t y)
      : call_(call), handle_(*handle), layers_(ready(rnn, call).layers), x_(ready(x, call)), y_(ready(y, call)) {
    if (&machine().needed(call) != handle->context || !handle->stream)
      violation("%s: stream, handle and context are not of one device", call);
    if (x_.steps != y_.steps || x_.batch != y_.batch || x_.lengths != y_.lengths || x_.size != layers_.input ||
        y_.size != layers_.output * layers_.directions || x_.type != layers_.type || y_.type != layers_.type)
      violation("%s: sequences do not fit the layers", call);
    lengths_ = reinterpret_cast<const int32_t*>(
        find("lengths", lengths, static_cast<size_t>(x_.batch) * sizeof(int32_t), sizeof(int32_t)));
  }

  size_t item() const { return static_cast<size_t>(layers_.item()); }
  size_t bytes_of(const cudnnRNNDataStruct& data) const {
    return static_cast<size_t>(data.steps * data.batch * data.size) * item();
  }
  char* x(const void* pointer) { return find("x", pointer, bytes_of(x_), item()); }
  char* y(const void* pointer) { return find("y", pointer, bytes_of(y_), item()); }
  // One array of states; null for none.
  char* states(const char* which, cudnnTensorDescriptor_t descriptor, const void* pointer, int64_t size) {
    const auto& tensor = ready(descriptor, call_);
    const std::vector<int> shape{static_cast<int>(layers_.pseudo_layers()), static_cast<int>(x_.batch),
                                 static_cast<int>(size)};
    if (tensor.shape != shape || tensor.strides != std::vector<int>{shape[1] * shape[2], shape[2], 1} ||
        tensor.type != layers_.type)
      violation("%s: %s is described otherwise", call_, which);
    if (!pointer) return nullptr;
    return find(which, pointer, static_cast<size_t>(shape[0]) * static_cast<size_t>(shape[1] * shape[2]) * item(),
                item());
  }
  char* cells(const char* which, cudnnTensorDescriptor_t descriptor, const void* pointer) {
    if (layers_.cell == CUDNN_LSTM) return states(which, descriptor, pointer, layers_.hidden);
    if (pointer) violation("%s: %s of layers without cells", call_, which);
    return nullptr;
  }
  char* weights(size_t bytes, const void* pointer) {
    if (bytes != static_cast<size_t>(RnnPlaces(layers_).elements) * item())
      violation("%s: %zu bytes of weights", call_, bytes);
    return find("weights", pointer, bytes, 16);
  }
  void workspace(size_t bytes, const void* pointer) {
    if (bytes < kRnnWorkspace) violation("%s: a workspace of %zu bytes", call_, bytes);
    find("workspace", pointer, bytes, 16);
  }
  double* reserve(size_t bytes, void* pointer) {
    if (bytes != static_cast<size_t>(reserve_doubles(layers_, x_.steps, x_.batch)) * sizeof(double))
      violation("%s: a reserve of %zu bytes", call_, bytes);
    return reinterpret_cast<double*>(find("reserve", pointer, bytes, sizeof(double)));
  }

  // `compute` is given the layers, steps and batch.
  template <class Compute>
  cudnnStatus_t put(Compute compute) {
    if (machine().enter(call_) != CUDA_SUCCESS) return CUDNN_STATUS_EXECUTION_FAILED;
    ++passes;
    handle_.stream->put(std::move(uses_), [layers = layers_, steps = x_.steps, batch = x_.batch, host = x_.lengths,
                                           lengths = lengths_, call = call_, compute] {
      if (!std::equal(host.begin(), host.end(), lengths)) violation("%s: lengths differ from those described", call);
      compute(layers, steps, batch);
    });
    return CUDNN_STATUS_SUCCESS;
  }
  const RnnLayers& layers() const { return layers_; }

 private:
  char* find(const char* which, const void* pointer, size_t bytes, size_t alignment) {
    uses_.push_back(reinterpret_cast<CUdeviceptr>(pointer));
    return on_device(handle_, call_, which, pointer, bytes, static_cast<int64_t>(alignment));
  }

  const char* call_;
  const cudnnContext& handle_;
  const RnnLayers layers_;
  const cudnnRNNDataStruct &x_, &y_;
  const int32_t* lengths_ = nullptr;
  std::vector<CUdeviceptr> uses_;
};

void check_math(cudnnDataType_t type, cudnnMathType_t math) {
  const bool rounds = math == CUDNN_DEFAULT_MATH || math == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION;
  if (type == CUDNN_DATA_FLOAT && math != CUDNN_FMA_MATH && !(rounds && may_round_to_tf32()))
    violation("cudnnSetRNNDescriptor_v8: factors are rounded to TF32, which nobody allowed");
}

}  // namespace
}  // namespace stand_in

using namespace stand_in;

#define STAND_IN_API extern "C" [[gnu::visibility("default")]]

// For tests: how many passes this library was given.
STAND_IN_API uint64_t stand_in_rnn_passes() { return passes.load(); }

STAND_IN_API cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* made) { return create(made); }
STAND_IN_API cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t made) {
  return destroy(made, "cudnnDestroyTensorDescriptor");
}
STAND_IN_API cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t* made) { return create(made); }
STAND_IN_API cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t made) {
  return destroy(made, "cudnnDestroyDropoutDescriptor");
}
STAND_IN_API cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t* made) { return create(made); }
STAND_IN_API cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t made) {
  return destroy(made, "cudnnDestroyRNNDescriptor");
}
STAND_IN_API cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t* made) { return create(made); }
STAND_IN_API cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t made) {
  return destroy(made, "cudnnDestroyRNNDataDescriptor");
}

STAND_IN_API cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int rank,
                                                      const int* shape, const int* strides) {
  live(tensor, "cudnnSetTensorNdDescriptor") = {true, type, {shape, shape + rank}, {strides, strides + rank}};
  return CUDNN_STATUS_SUCCESS;
}

STAND_IN_API cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t dropout, cudnnHandle_t, float rate,
                                                     void* states, size_t bytes, unsigned long long) {
  if (rate != 0 || states || bytes != 0) violation("cudnnSetDropoutDescriptor: dropout is not for this library");
  live(dropout, "cudnnSetDropoutDescriptor").is_set = true;
  return CUDNN_STATUS_SUCCESS;
}

STAND_IN_API cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t rnn, cudnnRNNAlgo_t algorithm,
                                                    cudnnRNNMode_t cell, cudnnRNNBiasMode_t bias,
                                                    cudnnDirectionMode_t direction, cudnnRNNInputMode_t input,
                                                    cudnnDataType_t type, cudnnDataType_t precision,
                                                    cudnnMathType_t math, int32_t input_size, int32_t hidden_size,
                                                    int32_t projection_size, int32_t layers,
                                                    cudnnDropoutDescriptor_t dropout, uint32_t flags) {
  constexpr const char* kCall = "cudnnSetRNNDescriptor_v8";
  ready(dropout, kCall);
  if (algorithm != CUDNN_RNN_ALGO_STANDARD || bias != CUDNN_RNN_DOUBLE_BIAS || input != CUDNN_LINEAR_INPUT ||
      flags != CUDNN_RNN_PADDED_IO_ENABLED || precision != CUDNN_DATA_FLOAT)
    violation("%s: layers of another kind", kCall);
  if (type != CUDNN_DATA_FLOAT && type != CUDNN_DATA_HALF) violation("%s: data type %d", kCall, type);
  if (input_size <= 0 || hidden_size <= 0 || layers <= 0 || projection_size <= 0 || projection_size > hidden_size ||
      (projection_size < hidden_size && cell != CUDNN_LSTM))
    violation("%s: sizes %d, %d, %d, %d", kCall, input_size, hidden_size, projection_size, layers);
  check_math(type, math);
  live(rnn, kCall) = {true,
                      {.cell = cell,
                       .type = type,
                       .directions = direction == CUDNN_BIDIRECTIONAL ? 2 : 1,
                       .input = input_size,
                       .hidden = hidden_size,
                       .output = projection_size,
                       .layers = layers}};
  return CUDNN_STATUS_SUCCESS;
}

STAND_IN_API cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t data, cudnnDataType_t type,
                                                     cudnnRNNDataLayout_t layout, int steps, int batch, int size,
                                                     const int* lengths, void* fill) {
  constexpr const char* kCall = "cudnnSetRNNDataDescriptor";
  if (layout != CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED || steps <= 0 || batch <= 0 || size <= 0 || !fill)
    violation("%s: layout %d, %d steps of %d sequences of %d", kCall, layout, steps, batch, size);
  const std::vector<int> copied(lengths, lengths + batch);
  if (std::any_of(copied.begin(), copied.end(), [steps](int length) { return length != steps; }))
    violation("%s: sequences of several lengths", kCall);
  live(data, kCall) = {true, type, steps, batch, size, copied};
  return CUDNN_STATUS_SUCCESS;
}

STAND_IN_API cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t, cudnnRNNDescriptor_t rnn, cudnnForwardMode_t mode,
                                                     cudnnRNNDataDescriptor_t x, size_t* workspace, size_t* reserve) {
  const RnnLayers& layers = ready(rnn, "cudnnGetRNNTempSpaceSizes").layers;
  const cudnnRNNDataStruct& data = ready(x, "cudnnGetRNNTempSpaceSizes");
  if (layers.hidden == 7) return CUDNN_STATUS_NOT_SUPPORTED;
  *workspace = kRnnWorkspace;
  *reserve = mode == CUDNN_FWD_MODE_TRAINING
                 ? static_cast<size_t>(reserve_doubles(layers, data.steps, data.batch)) * sizeof(double)
                 : 0;
  return CUDNN_STATUS_SUCCESS;
}

STAND_IN_API cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t, cudnnRNNDescriptor_t rnn, size_t* bytes) {
  const RnnLayers& layers = ready(rnn, "cudnnGetRNNWeightSpaceSize").layers;
  *bytes = static_cast<size_t>(RnnPlaces(layers).elements * layers.item());
  return CUDNN_STATUS_SUCCESS;
}

STAND_IN_API cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t, cudnnRNNDescriptor_t rnn, int32_t layer, size_t,
                                                   const void* begin, int32_t number, cudnnTensorDescriptor_t matrix,
                                                   void** matrix_address, cudnnTensorDescriptor_t bias,
                                                   void** bias_address) {
  constexpr const char* kCall = "cudnnGetRNNWeightParams";
  const RnnLayers& layers = ready(rnn, kCall).layers;
  live(matrix, kCall);
  live(bias, kCall);
  const RnnPlaces places(layers);
  if (layer < 0 || layer >= layers.pseudo_layers()) violation("%s: layer %d", kCall, layer);
  const auto address = [&](const std::vector<int64_t>& of_layer) -> void* {
    if (number < 0 || number >= static_cast<int32_t>(of_layer.size())) return nullptr;
    return const_cast<char*>(static_cast<const char*>(begin)) + of_layer[static_cast<size_t>(number)] * layers.item();
  };
  *matrix_address = address(places.matrices[static_cast<size_t>(layer)]);
  *bias_address = address(places.biases[static_cast<size_t>(layer)]);
  return CUDNN_STATUS_SUCCESS;
}

STAND_IN_API cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, cudnnForwardMode_t mode,
                                           const int32_t lengths[], cudnnRNNDataDescriptor_t x_descriptor,
                                           const void* x, cudnnRNNDataDescriptor_t y_descriptor, void* y,
                                           cudnnTensorDescriptor_t h, const void* hx, void* hy,
                                           cudnnTensorDescriptor_t c, const void* cx, void* cy, size_t weight_bytes,
                                           const void* weights, size_t work_bytes, void* work, size_t reserve_bytes,
                                           void* reserve) {
  Pass pass("cudnnRNNForward", handle, rnn, lengths, x_descriptor, y_descriptor);
  const int64_t output = pass.layers().output;
  const bool keeps = mode == CUDNN_FWD_MODE_TRAINING;
  if (!keeps && (reserve || reserve_bytes != 0)) violation("cudnnRNNForward: a reserve that is not needed");
  pass.workspace(work_bytes, work);
  const RnnArrays arrays{.x = pass.x(x),
                         .hx = pass.states("hx", h, hx, output),
                         .cx = pass.cells("cx", c, cx),
                         .weights = pass.weights(weight_bytes, weights),
                         .y = pass.y(y),
                         .hy = pass.states("hy", h, hy, output),
                         .cy = pass.cells("cy", c, cy),
                         .reserve = keeps ? pass.reserve(reserve_bytes, reserve) : nullptr};
  return pass.put(
      [arrays](const RnnLayers& layers, int64_t steps, int64_t batch) { rnn_forward(layers, steps, batch, arrays); });
}

STAND_IN_API cudnnStatus_t cudnnRNNBackwardData_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn,
                                                   const int32_t lengths[], cudnnRNNDataDescriptor_t y_descriptor,
                                                   const void* y, const void* dy, cudnnRNNDataDescriptor_t x_descriptor,
                                                   void* dx, cudnnTensorDescriptor_t h, const void* hx, const void* dhy,
                                                   void* dhx, cudnnTensorDescriptor_t c, const void* cx,
                                                   const void* dcy, void* dcx, size_t weight_bytes, const void* weights,
                                                   size_t work_bytes, void* work, size_t reserve_bytes, void* reserve) {
  Pass pass("cudnnRNNBackwardData_v8", handle, rnn, lengths, x_descriptor, y_descriptor);
  const int64_t output = pass.layers().output;
  pass.workspace(work_bytes, work);
  const RnnArrays arrays{.hx = pass.states("hx", h, hx, output),
                         .cx = pass.cells("cx", c, cx),
                         .weights = pass.weights(weight_bytes, weights),
                         .y = pass.y(y),
                         .reserve = pass.reserve(reserve_bytes, reserve)};
  const RnnGradients gradients{.dy = pass.y(dy),
                               .dhy = pass.states("dhy", h, dhy, output),
                               .dcy = pass.cells("dcy", c, dcy),
                               .dx = pass.x(dx),
                               .dhx = pass.states("dhx", h, dhx, output),
                               .dcx = pass.cells("dcx", c, dcx)};
  return pass.put([arrays, gradients](const RnnLayers& layers, int64_t steps, int64_t batch) {
    rnn_backward_data(layers, steps, batch, arrays, gradients);
  });
}

STAND_IN_API cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn,
                                                      cudnnWgradMode_t mode, const int32_t lengths[],
                                                      cudnnRNNDataDescriptor_t x_descriptor, const void* x,
                                                      cudnnTensorDescriptor_t h, const void* hx,
                                                      cudnnRNNDataDescriptor_t y_descriptor, const void* y,
                                                      size_t weight_bytes, void* dweights, size_t work_bytes,
                                                      void* work, size_t reserve_bytes, void* reserve) {
  Pass pass("cudnnRNNBackwardWeights_v8", handle, rnn, lengths, x_descriptor, y_descriptor);
  if (mode != CUDNN_WGRAD_MODE_ADD) violation("cudnnRNNBackwardWeights_v8: only sums are supported");
  pass.workspace(work_bytes, work);
  char* const sums = pass.weights(weight_bytes, dweights);
  const RnnArrays arrays{.x = pass.x(x),
                         .hx = pass.states("hx", h, hx, pass.layers().output),
                         .y = pass.y(y),
                         .reserve = pass.reserve(reserve_bytes, reserve)};
  return pass.put([arrays, sums](const RnnLayers& layers, int64_t steps, int64_t batch) {
    rnn_backward_weights(layers, steps, batch, arrays, sums);
  });
}

#endif
