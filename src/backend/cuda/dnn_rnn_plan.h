// How cuDNN computes recurrent layers. Only where its headers are.
#pragma once

#include <cudnn_adv.h>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "backend/cuda/dnn_library.h"
#include "backend/cuda/dnn_rnn.h"

namespace headrace {

struct DnnRnnLibrary {
  decltype(&cudnnCreateTensorDescriptor) create_tensor;
  decltype(&cudnnDestroyTensorDescriptor) destroy_tensor;
  decltype(&cudnnSetTensorNdDescriptor) set_tensor;
  decltype(&cudnnCreateDropoutDescriptor) create_dropout;
  decltype(&cudnnDestroyDropoutDescriptor) destroy_dropout;
  decltype(&cudnnSetDropoutDescriptor) set_dropout;
  decltype(&cudnnCreateRNNDescriptor) create_rnn;
  decltype(&cudnnDestroyRNNDescriptor) destroy_rnn;
  decltype(&cudnnSetRNNDescriptor_v8) set_rnn;
  decltype(&cudnnCreateRNNDataDescriptor) create_data;
  decltype(&cudnnDestroyRNNDataDescriptor) destroy_data;
  decltype(&cudnnSetRNNDataDescriptor) set_data;
  decltype(&cudnnGetRNNTempSpaceSizes) get_temp_sizes;
  decltype(&cudnnGetRNNWeightSpaceSize) get_weight_size;
  decltype(&cudnnGetRNNWeightParams) get_weight_params;
  decltype(&cudnnRNNForward) forward;
  decltype(&cudnnRNNBackwardData_v8) backward_data;
  decltype(&cudnnRNNBackwardWeights_v8) backward_weights;
};

// Null: there is none, which is said once. Any thread.
const DnnRnnLibrary* dnn_rnn_library();

// Owns what the library made.
template <class Handle>
using DnnOwned = std::unique_ptr<std::remove_pointer_t<Handle>, cudnnStatus_t(CUDNNWINAPI*)(Handle)>;

class DnnRnnPlan {
 public:
  // None: the library does not compute these layers, `why` says it. The device's context is current.
  static std::optional<DnnRnnPlan> make(cudnnHandle_t handle, const DnnRnn& rnn, std::string& why);

  const DnnRnnSizes& sizes() const noexcept { return sizes_; }
  // On the handle's stream.
  DnnStatus forward(cudnnHandle_t handle, const DnnRnnForward& pass) const;
  DnnStatus backward(cudnnHandle_t handle, const DnnRnnBackward& pass) const;

 private:
  friend class DnnRnnPlanner;
  DnnRnnPlan();

  DnnOwned<cudnnDropoutDescriptor_t> dropout_;
  DnnOwned<cudnnRNNDescriptor_t> rnn_;
  DnnOwned<cudnnRNNDataDescriptor_t> x_, y_;
  DnnOwned<cudnnTensorDescriptor_t> h_, c_;
  DnnRnnSizes sizes_;
};

}  // namespace headrace
