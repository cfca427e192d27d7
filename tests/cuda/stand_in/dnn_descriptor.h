// Descriptors of cuDNN's backend interface as the stand-in keeps them: what was set, checked against what there is to
// set.
#pragma once

#include <cudnn_graph.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "tests/cuda/stand_in/machine.h"

namespace stand_in {

enum class Engine : uint8_t { kPlain, kRandom, kTensorCore, kRounding, kFourier, kWithoutCode, kGreedy };

struct Tensor {
  int64_t id = 0, alignment = 0;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int64_t> shape, strides;
};

struct Convolution {
  cudnnBackendDescriptorType_t pass = {};
  Tensor x, w, y;
  std::vector<int64_t> stride, dilate, before, after;
};

struct Descriptor {
  explicit Descriptor(cudnnBackendDescriptorType_t made) : type(made) {}

  struct Value {
    cudnnBackendAttributeType_t type;
    int64_t count;
    std::vector<char> bytes;
  };

  const cudnnBackendDescriptorType_t type;
  bool is_finished = false;
  std::map<cudnnBackendAttributeName_t, Value> values = {};
  // Of what the library fills.
  cudnnHandle_t handle = nullptr;
  Convolution convolution = {};
  Engine engine = Engine::kPlain;

  template <class T>
  std::vector<T> all(cudnnBackendAttributeName_t name) const {
    const Value& value = values.at(name);
    std::vector<T> made(static_cast<size_t>(value.count));
    if (value.bytes.size() != made.size() * sizeof(T)) violation("cuDNN: attribute %d has another size", name);
    std::memcpy(made.data(), value.bytes.data(), value.bytes.size());
    return made;
  }
  template <class T>
  T one(cudnnBackendAttributeName_t name) const {
    const std::vector<T> made = all<T>(name);
    if (made.size() != 1) violation("cuDNN: attribute %d has %zu values, not one", name, made.size());
    return made[0];
  }
  // One that is there still, finished, of that type.
  const Descriptor& other(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t expected) const;
};

cudnnBackendDescriptor_t make_descriptor(cudnnBackendDescriptorType_t type);
void destroy_descriptor(cudnnBackendDescriptor_t handle);
// Ends the process for what is no descriptor, or was destroyed.
Descriptor& live_descriptor(cudnnBackendDescriptor_t handle, const char* call);

void set_value(Descriptor& descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
               int64_t count, const void* values);
// Ends the process unless all is set that must be.
void require_values(const Descriptor& descriptor);

// What a graph of one convolution says, whose shapes fit.
Convolution convolution_of(const Descriptor& graph);

// Into accumulators of double, then rounded. Pointers are to where the memory lies.
void compute(const Convolution& convolution, char* x, char* w, char* y);
// From the first to behind the last element.
size_t bytes_of(const Tensor& tensor);

}  // namespace stand_in
