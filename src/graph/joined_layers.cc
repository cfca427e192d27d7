#include "graph/joined_layers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "base/check.h"
#include "graph/labels.h"
#include "graph/nodes.h"
#include "graph/rewire.h"

namespace headrace {
namespace {

constexpr std::string_view kConvolution = "_sg_mkldnn_conv", kDense = "_sg_mkldnn_fully_connected";
constexpr const char* kInt8Text = "5";  // of __dtype__

class JoinedLayer {
 public:
  JoinedLayer(const Node& node, std::string_view op)
      : node_(node), is_convolution_(op == kConvolution), is_quantized_(is_set("quantized")) {
    const auto& bodies = node.label->subgraphs;
    require(bodies.size() == 1 && bodies[0].size() == 1 && bodies[0][0].output_index() == 0,
            "must have one body with one result");
    heads_ = bodies[0];
    last_ = heads_[0].node().get();
    for (Node* part : topological_order(heads_)) {
      for (const NDArray& input : part->inputs)
        require(input.output_index() < output_count(*input.node()), "reads output {} of {} in its body",
                input.output_index(), input.node()->label->name);
      if (is_variable(*part)) {
        places_.emplace(part, places_.size());
      } else if (part->op->name == (is_convolution_ ? "Convolution" : "FullyConnected")) {
        require(layer_ == nullptr, "has two layers in its body");
        layer_ = part;
      } else if (part->op->name == "elemwise_add" && is_convolution_) {
        sum_ = part;
      }
    }
    require(layer_ != nullptr, "has no layer in its body");
    const size_t wanted = places_.size() + range_count();
    require(node.inputs.size() == wanted, "has {} inputs, not the {} that its body and its texts ask for",
            node.inputs.size(), wanted);
  }

  NodePtr opened() {
    if (is_quantized_) take_floats();
    const bool gives_bytes = is_quantized_ && !is_set("enable_float_output");
    NDArray result = rewired(heads_, [&](const Node& part, std::span<const NDArray> inputs) {
      return in_place_of(part, inputs, !gives_bytes);
    })[0];
    return gives_bytes ? bytes_of(result) : result.node();
  }

 private:
  template <class... Args>
  void require(bool condition, fmt::format_string<Args...> text, Args&&... args) const {
    if (!condition)
      fail(ErrorKind::kRuntime, "symbol file: layer {} {}", node_.label->name,
           fmt::format(text, std::forward<Args>(args)...));
  }

  const std::string* text(const char* key) const {
    const auto found = node_.label->attrs.find(key);
    return found == node_.label->attrs.end() ? nullptr : &found->second;
  }
  bool is_set(const char* key) const {
    const std::string* value = text(key);
    return value && (*value == "true" || *value == "True" || *value == "1");
  }

  // Weights, and the bias, come as floats; otherwise those of a dense layer are bytes with a range each.
  bool has_float_weights() const { return is_convolution_ || is_set("channel_wise_quantize"); }
  size_t range_count() const {
    if (!is_quantized_) return 0;
    return 2 + (sum_ ? 2 : 0) + (has_float_weights() ? 0 : 2 * (layer_->inputs.size() - 1));
  }

  // What a variable of the body stands for.
  NDArray& value_of(const Node* variable) {
    const auto place = places_.find(variable);
    require(place != places_.end(), "has operators in front of its layer");
    auto [value, is_new] = values_.try_emplace(variable);
    if (is_new) value->second = node_.inputs[place->second];
    return value->second;
  }

  // From bytes, whose range is pair `pair` behind the arrays.
  void dequantize(const NDArray& input, size_t pair) {
    NDArray& value = value_of(input.node().get());
    Node& source = *value.node();
    if (is_variable(source)) source.label->attrs.emplace("__dtype__", kInt8Text);
    const NDArray* ends = &node_.inputs[places_.size() + 2 * pair];
    value = output_of(named_node("_contrib_dequantize", source.label->name + "_dequantize_" + node_.label->name,
                                 {value, ends[0], ends[1]})
                          .get(),
                      0);
  }

  void take_floats() {
    const std::vector<NDArray>& inputs = layer_->inputs;
    if (has_float_weights()) {
      NDArray& weight = value_of(inputs[1].node().get());
      const std::string name = weight.node()->label->name + "_rounded_" + node_.label->name;
      weight = output_of(named_node("_rounded_rows", name, {weight}).get(), 0);
    } else {
      for (size_t k = 1; k < inputs.size(); ++k) dequantize(inputs[k], k);
    }
    dequantize(inputs[0], 0);
    if (sum_) dequantize(sum_->inputs[1], 1);
  }

  std::vector<NDArray> in_place_of(const Node& part, std::span<const NDArray> inputs, bool names_last) {
    if (is_variable(part)) return {value_of(&part)};
    const NodePtr copy = with_inputs(part, {inputs.begin(), inputs.end()});
    if (part.op->name == "BatchNorm") {
      copy->label->attrs["use_global_stats"] = "True";
      copy->attrs = parse_attrs(*copy->op, copy->label->attrs);
    }
    if (&part == last_ && names_last) copy->label->name = node_.label->name;
    std::vector<NDArray> outputs;
    for (uint32_t k = 0; k < output_count(*copy); ++k) outputs.push_back(output_of(copy.get(), k));
    return outputs;
  }

  // Results that cannot be negative, as far as MXNet knows, are uint8.
  bool gives_uint8() const {
    static constexpr std::array<std::string_view, 3> kNeverNegative = {"relu", "sigmoid", "softrelu"};
    const std::string& op = last_->op->name;
    if (op == "Activation") {
      const auto kind = last_->label->attrs.find("act_type");
      return kind != last_->label->attrs.end() && std::ranges::count(kNeverNegative, kind->second) > 0;
    }
    return op == "clip" || (!is_convolution_ && (op == "square" || op == "sqrt" || op == "exp" || op == "abs"));
  }

  double end_of_range(const char* key) const {
    const std::string* written = text(key);
    require(written != nullptr,
            "was quantized without ranges, so that it gives int32; quantize the network anew, with "
            "calib_mode 'naive' or 'entropy'");
    char* rest = nullptr;
    const double end = std::strtod(written->c_str(), &rest);
    require(rest != written->c_str() && std::isfinite(end), "has {}={}, which is no number", key, *written);
    return end;
  }

  NodePtr bytes_of(const NDArray& result) const {
    const double range = std::max(std::abs(end_of_range("min_calib_range")), std::abs(end_of_range("max_calib_range")));
    const bool is_unsigned = gives_uint8();
    return named_node("_contrib_quantize_v2", node_.label->name, {result},
                      {{"out_type", is_unsigned ? "uint8" : "int8"},
                       {"min_calib_range", fmt::format("{}", is_unsigned ? 0.0 : -range)},
                       {"max_calib_range", fmt::format("{}", range)}});
  }

  const Node& node_;
  const bool is_convolution_, is_quantized_;
  std::vector<NDArray> heads_;
  const Node *last_ = nullptr, *layer_ = nullptr, *sum_ = nullptr;
  std::unordered_map<const Node*, size_t> places_;   // of the body's variables among the inputs
  std::unordered_map<const Node*, NDArray> values_;  // what was made of those inputs
};

}  // namespace

bool is_joined_layer(std::string_view op) noexcept { return op == kConvolution || op == kDense; }

NodePtr opened_layer(const Node& node, std::string_view op) { return JoinedLayer(node, op).opened(); }

}  // namespace headrace
