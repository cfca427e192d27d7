// Recurrent layers by cuDNN 9. What the library says of layers is kept with a handle for each device, which is used
// under a lock: it is asked before work is issued, in any thread, and given work by the device's launch thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "headrace/device.hpp"
#include "headrace/dtype.hpp"

namespace headrace {

class CudaStream;

enum class DnnCell : uint8_t { kRelu, kTanh, kLstm, kGru };

// Stacked layers over `steps` steps of a padded batch; all that what the library says of them depends on.
struct DnnRnn {
  DnnCell cell;
  DType dtype;  // float32 or float16; sums are float32
  bool is_bidirectional;
  int64_t steps, batch, input, state, output, layers;  // output: of a direction, less than the state where it projects

  auto all() const { return std::tie(cell, dtype, is_bidirectional, steps, batch, input, state, output, layers); }
  bool operator<(const DnnRnn& other) const { return all() < other.all(); }
};

// Elements of the parameters that lie together here and there.
struct DnnRun {
  int64_t here, there, count;
};

// How the library computes layers; lives as long as the process.
class DnnRnnPlan;

struct DnnRnnSizes {
  size_t reserve = 0;    // what a forward pass that is differentiated keeps, in bytes
  size_t workspace = 0;  // of any pass
  size_t weights = 0;
  // What to copy where the library's vector of parameters is not the plain one: all weights, layer after layer,
  // direction after direction, then likewise all biases. None: it is.
  std::vector<DnnRun> moves = {};
};

// Addresses of the device; arrays are packed, weights lie as the library has them.
struct DnnRnnForward {
  const void *x, *hx, *cx, *weights;
  void *y, *hy, *cy;
  void* reserve;           // null: nothing will be differentiated
  const int32_t* lengths;  // the number of steps for each sequence of the batch
  void* workspace;
};
struct DnnRnnBackward {
  const void *x, *hx, *cx, *weights, *y, *dy, *dhy, *dcy;
  void *dx, *dhx, *dcx;
  void* dweights;  // is added to
  void* reserve;   // is used up
  const int32_t* lengths;
  void* workspace;
};

// Null: there is no library, or it does not compute these layers; both are said once. Any thread. Raises
// Error(kRuntime).
const DnnRnnPlan* find_rnn(Device device, const DnnRnn& rnn);
const DnnRnnSizes& sizes_of(const DnnRnnPlan& plan) noexcept;

// Put a pass on the stream. Raise Error(kRuntime). The launch thread of the stream's device.
void put_rnn_forward(CudaStream& stream, const DnnRnnPlan& plan, const DnnRnnForward& pass);
void put_rnn_backward(CudaStream& stream, const DnnRnnPlan& plan, const DnnRnnBackward& pass);

}  // namespace headrace
