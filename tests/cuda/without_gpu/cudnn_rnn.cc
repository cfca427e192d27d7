// The real cuDNN's recurrent layers for a machine without a GPU: it describes them, and says where their weights lie.
// They cannot be computed.
#include <cudnn_adv.h>

#include <cstddef>

#include "tests/cuda/without_gpu/real.h"

namespace {

// For functions that keep a handle or look at what is not set in it.
cudnnHandle_t blank_handle() {
  constexpr size_t kBytes = size_t{1} << 20;  // more than a handle has, on both sides of where it begins
  static char* const memory = static_cast<char*>(std::calloc(1, kBytes));
  return reinterpret_cast<cudnnHandle_t>(memory + kBytes / 2);
}

}  // namespace

WITHOUT_GPU_API cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* made) {
  return REAL(cudnnCreateTensorDescriptor)(made);
}
WITHOUT_GPU_API cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t made) {
  return REAL(cudnnDestroyTensorDescriptor)(made);
}
WITHOUT_GPU_API cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t* made) {
  return REAL(cudnnCreateDropoutDescriptor)(made);
}
WITHOUT_GPU_API cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t made) {
  return REAL(cudnnDestroyDropoutDescriptor)(made);
}
WITHOUT_GPU_API cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t* made) {
  return REAL(cudnnCreateRNNDescriptor)(made);
}
WITHOUT_GPU_API cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t made) {
  return REAL(cudnnDestroyRNNDescriptor)(made);
}
WITHOUT_GPU_API cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t* made) {
  return REAL(cudnnCreateRNNDataDescriptor)(made);
}
WITHOUT_GPU_API cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t made) {
  return REAL(cudnnDestroyRNNDataDescriptor)(made);
}

WITHOUT_GPU_API cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int rank,
                                                         const int* shape, const int* strides) {
  return REAL(cudnnSetTensorNdDescriptor)(tensor, type, rank, shape, strides);
}

WITHOUT_GPU_API cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t dropout, cudnnHandle_t, float rate,
                                                        void* states, size_t bytes, unsigned long long seed) {
  return REAL(cudnnSetDropoutDescriptor)(dropout, blank_handle(), rate, states, bytes, seed);
}

WITHOUT_GPU_API cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t rnn, cudnnRNNAlgo_t algorithm,
                                                       cudnnRNNMode_t cell, cudnnRNNBiasMode_t bias,
                                                       cudnnDirectionMode_t direction, cudnnRNNInputMode_t input,
                                                       cudnnDataType_t type, cudnnDataType_t precision,
                                                       cudnnMathType_t math, int32_t input_size, int32_t hidden_size,
                                                       int32_t projection_size, int32_t layers,
                                                       cudnnDropoutDescriptor_t dropout, uint32_t flags) {
  return REAL(cudnnSetRNNDescriptor_v8)(rnn, algorithm, cell, bias, direction, input, type, precision, math, input_size,
                                        hidden_size, projection_size, layers, dropout, flags);
}

WITHOUT_GPU_API cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t data, cudnnDataType_t type,
                                                        cudnnRNNDataLayout_t layout, int steps, int batch, int size,
                                                        const int lengths[], void* fill) {
  return REAL(cudnnSetRNNDataDescriptor)(data, type, layout, steps, batch, size, lengths, fill);
}

// What it answers with sizes, it answers for want of a GPU.
WITHOUT_GPU_API cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t, cudnnRNNDescriptor_t rnn,
                                                        cudnnForwardMode_t mode, cudnnRNNDataDescriptor_t x,
                                                        size_t* workspace, size_t* reserve) {
  const cudnnStatus_t status = REAL(cudnnGetRNNTempSpaceSizes)(blank_handle(), rnn, mode, x, workspace, reserve);
  return status == CUDNN_STATUS_EXECUTION_FAILED_CUDART && *workspace > 0 ? CUDNN_STATUS_SUCCESS : status;
}

WITHOUT_GPU_API cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t, cudnnRNNDescriptor_t rnn, size_t* bytes) {
  return REAL(cudnnGetRNNWeightSpaceSize)(blank_handle(), rnn, bytes);
}

WITHOUT_GPU_API cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t, cudnnRNNDescriptor_t rnn, int32_t layer,
                                                      size_t bytes, const void* begin, int32_t number,
                                                      cudnnTensorDescriptor_t matrix, void** matrix_address,
                                                      cudnnTensorDescriptor_t bias, void** bias_address) {
  return REAL(cudnnGetRNNWeightParams)(blank_handle(), rnn, layer, bytes, begin, number, matrix, matrix_address, bias,
                                       bias_address);
}

WITHOUT_GPU_API cudnnStatus_t cudnnRNNForward(cudnnHandle_t, cudnnRNNDescriptor_t, cudnnForwardMode_t, const int32_t[],
                                              cudnnRNNDataDescriptor_t, const void*, cudnnRNNDataDescriptor_t, void*,
                                              cudnnTensorDescriptor_t, const void*, void*, cudnnTensorDescriptor_t,
                                              const void*, void*, size_t, const void*, size_t, void*, size_t, void*) {
  return CUDNN_STATUS_NOT_INITIALIZED;
}

WITHOUT_GPU_API cudnnStatus_t cudnnRNNBackwardData_v8(cudnnHandle_t, cudnnRNNDescriptor_t, const int32_t[],
                                                      cudnnRNNDataDescriptor_t, const void*, const void*,
                                                      cudnnRNNDataDescriptor_t, void*, cudnnTensorDescriptor_t,
                                                      const void*, const void*, void*, cudnnTensorDescriptor_t,
                                                      const void*, const void*, void*, size_t, const void*, size_t,
                                                      void*, size_t, void*) {
  return CUDNN_STATUS_NOT_INITIALIZED;
}

WITHOUT_GPU_API cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t, cudnnRNNDescriptor_t, cudnnWgradMode_t,
                                                         const int32_t[], cudnnRNNDataDescriptor_t, const void*,
                                                         cudnnTensorDescriptor_t, const void*, cudnnRNNDataDescriptor_t,
                                                         const void*, size_t, void*, size_t, void*, size_t, void*) {
  return CUDNN_STATUS_NOT_INITIALIZED;
}
