// Convolutions and poolings along one, two or three axes. Data are (n, channels, ...) unless a layout says otherwise:
// "NWC", "NHWC", "NDHWC".
#pragma once

#include "headrace/gluon/operator_layer.hpp"

namespace headrace::gluon::nn {

// One number for all axes, or one for each: `3`, `{3, 5}`.
class PerAxis {
 public:
  PerAxis() = default;  // none
  PerAxis(int64_t number) : numbers_{number} {}
  PerAxis(std::initializer_list<int64_t> numbers) : numbers_(numbers) {}
  bool is_none() const noexcept { return numbers_.empty(); }
  // As many numbers as axes. ValueError, naming `layer` and `what`: there are others.
  Shape spread(size_t axes, const std::string& layer, const char* what) const;

 private:
  Shape numbers_;
};

struct ConvOptions {
  PerAxis strides = 1, padding = 0, dilation = 1;
  int64_t groups = 1;           // of input and output channels, each with kernels of its own
  std::string layout = {};      // empty: channels second
  std::string activation = {};  // as for Activation; empty: none
  bool use_bias = true;
  int64_t in_channels = 0;     // 0: as many as the first data have
  PerAxis output_padding = 0;  // of transposed convolutions: elements added at the end of each axis of the result
  init::Initializer weight_initializer = nullptr, bias_initializer = init::Zero{};
};

// What convolutions share. ValueError: channels or groups are not positive or do not divide, numbers for other axes, an
// unknown layout or activation.
class Convolution : public OperatorLayer {
 protected:
  Convolution(size_t axes, bool is_transposed, int64_t channels, const PerAxis& kernel_size,
              const ConvOptions& options);
};

// Cross-correlation. Weight: (channels, in_channels / groups, kernel_size ...); with channels last
// (channels, kernel_size ..., in_channels / groups).
template <size_t kAxes>
class ConvAlong : public Convolution {
 public:
  ConvAlong(int64_t channels, const PerAxis& kernel_size, const ConvOptions& options = {})
      : Convolution(kAxes, false, channels, kernel_size, options) {}
};
using Conv1D = ConvAlong<1>;
using Conv2D = ConvAlong<2>;
using Conv3D = ConvAlong<3>;

// The gradient of a cross-correlation by its data. Weight: (in_channels, channels / groups, kernel_size ...).
template <size_t kAxes>
class ConvTransposeAlong : public Convolution {
 public:
  ConvTransposeAlong(int64_t channels, const PerAxis& kernel_size, const ConvOptions& options = {})
      : Convolution(kAxes, true, channels, kernel_size, options) {}
};
using Conv1DTranspose = ConvTransposeAlong<1>;
using Conv2DTranspose = ConvTransposeAlong<2>;
using Conv3DTranspose = ConvTransposeAlong<3>;

enum class PoolType : uint8_t { kMax, kAvg };

struct PoolOptions {
  PerAxis strides = {};  // none: pool_size
  PerAxis padding = 0;
  std::string layout = {};        // empty: channels second
  bool ceil_mode = false;         // the last window may end outside the data
  bool count_include_pad = true;  // of averages: padding counts as zeros, instead of not at all
};

// What poolings share. ValueError: numbers for other axes, or an unknown layout.
class Pooling : public OperatorLayer {
 protected:
  Pooling(size_t axes, PoolType type, const PerAxis& pool_size, const PoolOptions& options);
  Pooling(size_t axes, PoolType type, const std::string& layout);  // of everything
};

// Maxima or means of windows.
template <size_t kAxes, PoolType kType>
class PoolAlong : public Pooling {
 public:
  explicit PoolAlong(const PerAxis& pool_size = 2, const PoolOptions& options = {})
      : Pooling(kAxes, kType, pool_size, options) {}
};
using MaxPool1D = PoolAlong<1, PoolType::kMax>;
using MaxPool2D = PoolAlong<2, PoolType::kMax>;
using MaxPool3D = PoolAlong<3, PoolType::kMax>;
using AvgPool1D = PoolAlong<1, PoolType::kAvg>;
using AvgPool2D = PoolAlong<2, PoolType::kAvg>;
using AvgPool3D = PoolAlong<3, PoolType::kAvg>;

// The maximum or mean of every channel: (n, channels, ...) to (n, channels, 1, ...).
template <size_t kAxes, PoolType kType>
class GlobalPoolAlong : public Pooling {
 public:
  explicit GlobalPoolAlong(const std::string& layout = {}) : Pooling(kAxes, kType, layout) {}
};
using GlobalMaxPool1D = GlobalPoolAlong<1, PoolType::kMax>;
using GlobalMaxPool2D = GlobalPoolAlong<2, PoolType::kMax>;
using GlobalMaxPool3D = GlobalPoolAlong<3, PoolType::kMax>;
using GlobalAvgPool1D = GlobalPoolAlong<1, PoolType::kAvg>;
using GlobalAvgPool2D = GlobalPoolAlong<2, PoolType::kAvg>;
using GlobalAvgPool3D = GlobalPoolAlong<3, PoolType::kAvg>;

}  // namespace headrace::gluon::nn
