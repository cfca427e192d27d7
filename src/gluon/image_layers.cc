#include "headrace/gluon/image_layers.hpp"

#include <array>

#include "base/check.h"

namespace headrace::gluon::nn {
namespace {

struct Layouts {
  const char *channels_second, *channels_last;
};
constexpr std::array<Layouts, 4> kLayouts = {{{}, {"NCW", "NWC"}, {"NCHW", "NHWC"}, {"NCDHW", "NDHWC"}}};

std::string checked_layout(const std::string& layout, size_t axes, const std::string& layer) {
  const auto [second, last] = kLayouts[axes];
  check(layout.empty() || layout == second || layout == last, ErrorKind::kValue,
        "{}: layout must be '{}' or '{}', got '{}'", layer, second, last, layout);
  return layout.empty() ? second : layout;
}

// The outer channels, the inner channels and the window, in the order of the layout.
Shape weight_shape(int64_t outer, int64_t inner, const Shape& kernel, bool channels_last) {
  Shape shape{outer};
  if (!channels_last) shape.push_back(inner);
  for (int64_t extent : kernel) shape.push_back(extent);
  if (channels_last) shape.push_back(inner);
  return shape;
}

std::string conv_name(size_t axes, bool is_transposed) {
  return fmt::format("Conv{}D{}", axes, is_transposed ? "Transpose" : "");
}

std::vector<Option> conv_attributes(size_t axes, bool is_transposed, int64_t channels, const PerAxis& kernel_size,
                                    const ConvOptions& options) {
  const std::string name = conv_name(axes, is_transposed);
  check(
      channels > 0 && options.groups > 0 && channels % options.groups == 0 && options.in_channels % options.groups == 0,
      ErrorKind::kValue, "{}: channels and in_channels must be multiples of groups, got {} and {} with {} groups", name,
      channels, options.in_channels, options.groups);
  std::vector<Option> attributes;
  attributes.emplace_back("kernel", kernel_size.spread(axes, name, "kernel_size"));
  attributes.emplace_back("stride", options.strides.spread(axes, name, "strides"));
  attributes.emplace_back("dilate", options.dilation.spread(axes, name, "dilation"));
  attributes.emplace_back("pad", options.padding.spread(axes, name, "padding"));
  attributes.emplace_back("num_filter", channels);
  attributes.emplace_back("num_group", options.groups);
  attributes.emplace_back("no_bias", !options.use_bias);
  attributes.emplace_back("layout", checked_layout(options.layout, axes, name));
  const Shape output_padding = options.output_padding.spread(axes, name, "output_padding");
  if (is_transposed) attributes.emplace_back("adj", output_padding);
  check(is_transposed || output_padding == Shape(axes, 0), ErrorKind::kValue,
        "{}: output_padding is of transposed convolutions, got {}", name, to_string(output_padding));
  return attributes;
}

std::vector<Option> pool_attributes(size_t axes, PoolType type, const PerAxis& pool_size, const PoolOptions& options,
                                    bool is_global) {
  const bool is_max = type == PoolType::kMax;
  const std::string name = fmt::format("{}{}Pool{}D", is_global ? "Global" : "", is_max ? "Max" : "Avg", axes);
  const Shape kernel = pool_size.spread(axes, name, "pool_size");
  std::vector<Option> attributes;
  attributes.emplace_back("kernel", kernel);
  attributes.emplace_back("stride", options.strides.is_none() ? kernel : options.strides.spread(axes, name, "strides"));
  attributes.emplace_back("pad", options.padding.spread(axes, name, "padding"));
  attributes.emplace_back("global_pool", is_global);
  attributes.emplace_back("pool_type", std::string(is_max ? "max" : "avg"));
  attributes.emplace_back("layout", checked_layout(options.layout, axes, name));
  attributes.emplace_back("pooling_convention", std::string(options.ceil_mode ? "full" : "valid"));
  if (!is_max && !is_global) attributes.emplace_back("count_include_pad", options.count_include_pad);
  return attributes;
}

}  // namespace

Shape PerAxis::spread(size_t axes, const std::string& layer, const char* what) const {
  if (numbers_.size() == 1) return Shape(axes, numbers_[0]);
  check(numbers_.size() == axes, ErrorKind::kValue, "{}: {} must be a number or a list of {} numbers, got {}", layer,
        what, axes, numbers_.size());
  return numbers_;
}

Convolution::Convolution(size_t axes, bool is_transposed, int64_t channels, const PerAxis& kernel_size,
                         const ConvOptions& options)
    : OperatorLayer(is_transposed ? "Deconvolution" : "Convolution",
                    conv_attributes(axes, is_transposed, channels, kernel_size, options), options.activation) {
  const Shape kernel = kernel_size.spread(axes, conv_name(axes, is_transposed), "kernel_size");
  const bool channels_last = options.layout.ends_with('C');
  add_input("weight",
            is_transposed ? weight_shape(options.in_channels, channels / options.groups, kernel, channels_last)
                          : weight_shape(channels, options.in_channels / options.groups, kernel, channels_last),
            options.weight_initializer);
  if (options.use_bias) add_input("bias", {channels}, options.bias_initializer);
}

Pooling::Pooling(size_t axes, PoolType type, const PerAxis& pool_size, const PoolOptions& options)
    : OperatorLayer("Pooling", pool_attributes(axes, type, pool_size, options, false)) {}

Pooling::Pooling(size_t axes, PoolType type, const std::string& layout)
    : OperatorLayer("Pooling", pool_attributes(axes, type, 1, {.layout = layout, .ceil_mode = true}, true)) {}

}  // namespace headrace::gluon::nn
