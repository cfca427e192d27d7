#if __has_include(<cudnn_adv.h>)

#include "backend/cuda/dnn_rnn_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "backend/cuda/library.h"
#include "base/config.h"
#include "base/log.h"

namespace headrace {
namespace {

// None: `why` says it.
std::optional<DnnRnnLibrary> load_rnn_library(std::string& why) {
  DnnRnnLibrary made{};
  const auto look_up = functions_of(dnn_library()->library, why);
  look_up(made.create_tensor, "cudnnCreateTensorDescriptor");
  look_up(made.destroy_tensor, "cudnnDestroyTensorDescriptor");
  look_up(made.set_tensor, "cudnnSetTensorNdDescriptor");
  look_up(made.create_dropout, "cudnnCreateDropoutDescriptor");
  look_up(made.destroy_dropout, "cudnnDestroyDropoutDescriptor");
  look_up(made.set_dropout, "cudnnSetDropoutDescriptor");
  look_up(made.create_rnn, "cudnnCreateRNNDescriptor");
  look_up(made.destroy_rnn, "cudnnDestroyRNNDescriptor");
  look_up(made.set_rnn, "cudnnSetRNNDescriptor_v8");
  look_up(made.create_data, "cudnnCreateRNNDataDescriptor");
  look_up(made.destroy_data, "cudnnDestroyRNNDataDescriptor");
  look_up(made.set_data, "cudnnSetRNNDataDescriptor");
  look_up(made.get_temp_sizes, "cudnnGetRNNTempSpaceSizes");
  look_up(made.get_weight_size, "cudnnGetRNNWeightSpaceSize");
  look_up(made.get_weight_params, "cudnnGetRNNWeightParams");
  look_up(made.forward, "cudnnRNNForward");
  look_up(made.backward_data, "cudnnRNNBackwardData_v8");
  look_up(made.backward_weights, "cudnnRNNBackwardWeights_v8");
  if (why.empty()) return made;
  return {};
}

template <class Handle>
DnnOwned<Handle> made_by(cudnnStatus_t(CUDNNWINAPI* create)(Handle*), cudnnStatus_t(CUDNNWINAPI* destroy)(Handle)) {
  Handle handle = nullptr;
  if (create(&handle) != CUDNN_STATUS_SUCCESS) handle = nullptr;  // whoever sets it is told
  return {handle, destroy};
}

cudnnRNNMode_t mode_of(DnnCell cell) {
  switch (cell) {
    case DnnCell::kRelu:
      return CUDNN_RNN_RELU;
    case DnnCell::kTanh:
      return CUDNN_RNN_TANH;
    case DnnCell::kLstm:
      return CUDNN_LSTM;
    default:
      return CUDNN_GRU;
  }
}

int gates_of(DnnCell cell) { return cell == DnnCell::kLstm ? 4 : cell == DnnCell::kGru ? 3 : 1; }

cudnnMathType_t math_of(DType dtype) {
  if (dtype != DType::kFloat32) return CUDNN_TENSOR_OP_MATH;
  return config().cuda_tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

}  // namespace

const DnnRnnLibrary* dnn_rnn_library() {
  static const std::optional<DnnRnnLibrary>& loaded = *new std::optional<DnnRnnLibrary>([] {
    std::string why;
    std::optional<DnnRnnLibrary> made;
    if (dnn_library()) made = load_rnn_library(why);
    if (!why.empty()) log(LogLevel::kWarn, "cuda: recurrent layers are computed step by step, which is slow: {}.", why);
    return made;
  }());
  return loaded ? &*loaded : nullptr;
}

// Makes a plan. What failed first stays in status().
class DnnRnnPlanner {
 public:
  DnnRnnPlanner(cudnnHandle_t handle, const DnnRnn& rnn) : handle_(handle), rnn_(rnn) {}

  DnnRnnPlan plan() {
    DnnRnnPlan made;
    describe(made);
    ask_for_sizes(made);
    if (status_.is_good()) compare_weights(made);
    return made;
  }
  const DnnStatus& status() const noexcept { return status_; }

 private:
  template <class Function, class... Arguments>
  void ask(const char* name, Function function, Arguments... arguments) {
    if (status_.is_good()) status_ = {name, function(arguments...)};
  }

  int directions() const { return rnn_.is_bidirectional ? 2 : 1; }
  cudnnDataType_t type() const { return rnn_.dtype == DType::kFloat16 ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT; }

  void describe(DnnRnnPlan& made) {
    const DnnRnnLibrary& library = *dnn_rnn_library();
    ask("cudnnSetDropoutDescriptor", library.set_dropout, made.dropout_.get(), handle_, 0.0F, nullptr, size_t{0}, 0ULL);
    ask("cudnnSetRNNDescriptor_v8", library.set_rnn, made.rnn_.get(), CUDNN_RNN_ALGO_STANDARD, mode_of(rnn_.cell),
        CUDNN_RNN_DOUBLE_BIAS, rnn_.is_bidirectional ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT,
        type(), CUDNN_DATA_FLOAT, math_of(rnn_.dtype), static_cast<int32_t>(rnn_.input),
        static_cast<int32_t>(rnn_.state), static_cast<int32_t>(rnn_.output), static_cast<int32_t>(rnn_.layers),
        made.dropout_.get(), CUDNN_RNN_PADDED_IO_ENABLED);
    const std::vector<int> lengths(static_cast<size_t>(rnn_.batch), static_cast<int>(rnn_.steps));
    float fill = 0;  // its bytes are those of a zero of any type
    const auto sequences = [&](cudnnRNNDataDescriptor_t data, int64_t size) {
      ask("cudnnSetRNNDataDescriptor", library.set_data, data, type(), CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
          static_cast<int>(rnn_.steps), static_cast<int>(rnn_.batch), static_cast<int>(size), lengths.data(), &fill);
    };
    sequences(made.x_.get(), rnn_.input);
    sequences(made.y_.get(), rnn_.output * directions());
    const auto states = [&](cudnnTensorDescriptor_t tensor, int64_t size) {
      const int shape[] = {static_cast<int>(rnn_.layers) * directions(), static_cast<int>(rnn_.batch),
                           static_cast<int>(size)};
      const int strides[] = {shape[1] * shape[2], shape[2], 1};
      ask("cudnnSetTensorNdDescriptor", library.set_tensor, tensor, type(), 3, shape, strides);
    };
    states(made.h_.get(), rnn_.output);
    states(made.c_.get(), rnn_.state);
  }

  void ask_for_sizes(DnnRnnPlan& made) {
    const DnnRnnLibrary& library = *dnn_rnn_library();
    size_t predicting = 0, nothing = 0;
    ask("cudnnGetRNNWeightSpaceSize", library.get_weight_size, handle_, made.rnn_.get(), &made.sizes_.weights);
    ask("cudnnGetRNNTempSpaceSizes", library.get_temp_sizes, handle_, made.rnn_.get(), CUDNN_FWD_MODE_INFERENCE,
        made.x_.get(), &predicting, &nothing);
    ask("cudnnGetRNNTempSpaceSizes", library.get_temp_sizes, handle_, made.rnn_.get(), CUDNN_FWD_MODE_TRAINING,
        made.x_.get(), &made.sizes_.workspace, &made.sizes_.reserve);
    made.sizes_.workspace = std::max(made.sizes_.workspace, predicting);
  }

  // Where the weights are that the plain vector has one after the other.
  void compare_weights(DnnRnnPlan& made) {
    const bool projects = rnn_.output < rnn_.state;
    const int gates = gates_of(rnn_.cell), layers = static_cast<int>(rnn_.layers) * directions();
    std::vector<DnnRun> runs;
    const auto add = [&](int64_t there, int64_t count) {
      DnnRun* const last = runs.empty() ? nullptr : &runs.back();
      const int64_t here = last ? last->here + last->count : 0;
      if (last && last->there + last->count == there)
        last->count += count;
      else
        runs.push_back({here, there, count});
    };
    for (int layer = 0; layer < layers; ++layer) {
      const int64_t columns = layer < directions() ? rnn_.input : directions() * rnn_.output;
      for (int k = 0; k < 2 * gates; ++k)
        add(place(made, layer, k).matrix, rnn_.state * (k < gates ? columns : rnn_.output));
      if (projects) add(place(made, layer, 2 * gates).matrix, rnn_.output * rnn_.state);
    }
    for (int layer = 0; layer < layers; ++layer)
      for (int k = 0; k < 2 * gates; ++k) add(place(made, layer, k).bias, rnn_.state);
    const int64_t elements = runs.back().here + runs.back().count;
    const bool is_plain = runs.size() == 1 && runs[0].there == 0 &&
                          made.sizes_.weights == static_cast<size_t>(elements) * item_size(rnn_.dtype);
    if (!is_plain) made.sizes_.moves = std::move(runs);
  }

  // In elements.
  struct Place {
    int64_t matrix, bias;
  };
  Place place(const DnnRnnPlan& made, int layer, int number) {
    const DnnRnnLibrary& library = *dnn_rnn_library();
    constexpr uintptr_t kBegin = 1 << 20;  // addresses are counted from here, nothing is read
    void *matrix = nullptr, *bias = nullptr;
    const auto tensor = made_by(library.create_tensor, library.destroy_tensor);
    const auto other = made_by(library.create_tensor, library.destroy_tensor);
    ask("cudnnGetRNNWeightParams", library.get_weight_params, handle_, made.rnn_.get(), layer, made.sizes_.weights,
        reinterpret_cast<const void*>(kBegin), number, tensor.get(), &matrix, other.get(), &bias);
    const auto elements = [&](const void* address) {
      return (reinterpret_cast<intptr_t>(address) - static_cast<intptr_t>(kBegin)) /
             static_cast<int64_t>(item_size(rnn_.dtype));
    };
    return {elements(matrix), elements(bias)};
  }

  const cudnnHandle_t handle_;
  const DnnRnn& rnn_;
  DnnStatus status_;
};

DnnRnnPlan::DnnRnnPlan()
    : dropout_(made_by(dnn_rnn_library()->create_dropout, dnn_rnn_library()->destroy_dropout)),
      rnn_(made_by(dnn_rnn_library()->create_rnn, dnn_rnn_library()->destroy_rnn)),
      x_(made_by(dnn_rnn_library()->create_data, dnn_rnn_library()->destroy_data)),
      y_(made_by(dnn_rnn_library()->create_data, dnn_rnn_library()->destroy_data)),
      h_(made_by(dnn_rnn_library()->create_tensor, dnn_rnn_library()->destroy_tensor)),
      c_(made_by(dnn_rnn_library()->create_tensor, dnn_rnn_library()->destroy_tensor)) {}

std::optional<DnnRnnPlan> DnnRnnPlan::make(cudnnHandle_t handle, const DnnRnn& rnn, std::string& why) {
  DnnRnnPlanner planner(handle, rnn);
  DnnRnnPlan made = planner.plan();
  if (planner.status().is_good()) return made;
  why = planner.status().text();
  return {};
}

DnnStatus DnnRnnPlan::forward(cudnnHandle_t handle, const DnnRnnForward& p) const {
  const cudnnForwardMode_t mode = p.reserve ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE;
  return {"cudnnRNNForward",
          dnn_rnn_library()->forward(handle, rnn_.get(), mode, p.lengths, x_.get(), p.x, y_.get(), p.y, h_.get(), p.hx,
                                     p.hy, c_.get(), p.cx, p.cy, sizes_.weights, p.weights, sizes_.workspace,
                                     p.workspace, p.reserve ? sizes_.reserve : 0, p.reserve)};
}

DnnStatus DnnRnnPlan::backward(cudnnHandle_t handle, const DnnRnnBackward& p) const {
  const DnnStatus status{
      "cudnnRNNBackwardData_v8",
      dnn_rnn_library()->backward_data(handle, rnn_.get(), p.lengths, y_.get(), p.y, p.dy, x_.get(), p.dx, h_.get(),
                                       p.hx, p.dhy, p.dhx, c_.get(), p.cx, p.dcy, p.dcx, sizes_.weights, p.weights,
                                       sizes_.workspace, p.workspace, sizes_.reserve, p.reserve)};
  if (!status.is_good()) return status;
  return {"cudnnRNNBackwardWeights_v8",
          dnn_rnn_library()->backward_weights(handle, rnn_.get(), CUDNN_WGRAD_MODE_ADD, p.lengths, x_.get(), p.x,
                                              h_.get(), p.hx, y_.get(), p.y, sizes_.weights, p.dweights,
                                              sizes_.workspace, p.workspace, sizes_.reserve, p.reserve)};
}

}  // namespace headrace

#endif
