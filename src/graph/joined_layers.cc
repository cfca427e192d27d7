#include "graph/joined_layers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "base/check.h"
#include "graph/labels.h"
#include "graph/layer_chains.h"
#include "graph/nodes.h"
#include "graph/quantize.h"
#include "graph/rewire.h"
#include "op/quantization.h"
#include "ops/control/control_flow.h"

namespace headrace {
namespace {

constexpr JoinedKind kKinds[] = {kJoinedConvolution, kJoinedDense, kJoinedScores, kJoinedValues};
constexpr const char *kFloat32Text = "0", *kInt8Text = "5";  // of __dtype__
constexpr const char* kByteWeightRange = "127.5";            // which number of an int8 weight the end of its range is

class JoinedLayer {
 public:
  explicit JoinedLayer(const Node& node)
      : node_(node),
        a_(node.attrs->as<JoinedLayerAttrs>()),
        is_convolution_(node.op->name == kJoinedConvolution.op),
        is_dense_(node.op->name == kJoinedDense.op) {
    const auto& bodies = node.label->subgraphs;
    require(bodies.size() == 1 && bodies[0].size() == 1 && bodies[0][0].output_index() == 0,
            "must have one body with one result");
    heads_ = bodies[0];
    last_ = heads_[0].node().get();
    find_parts();
    require(layer_ != nullptr, "has no layer in its body");
    const size_t wanted = places_.size() + 2 * byte_inputs().size();
    require(node.inputs.size() == wanted, "has {} inputs, not the {} that its body and its attributes ask for",
            node.inputs.size(), wanted);
    if (!a_.quantized) return;
    for (const NDArray& input : layer_->inputs)
      require(is_variable(*input.node()), "has operators in front of its layer");
    for (const NDArray& input : byte_inputs()) require(is_variable(*input.node()), "has operators in front of its sum");
    for (const std::optional<double>& end : {a_.min_calib_range, a_.max_calib_range})
      require(!end || std::abs(*end) <= std::numeric_limits<float>::max(), "has a range to {}, which is no float32",
              end.value_or(0));
  }

  OpenedLayer opened() {
    for (size_t k = 0; k < node_.inputs.size(); ++k) inputs_.push_back(variable(k));
    for (const auto& [part, place] : places_) values_.emplace(part, inputs_[place]);
    return {inputs_, a_.quantized ? quantized_results() : std::vector{on_floats(true)}};
  }

 private:
  template <class... Args>
  void require(bool condition, fmt::format_string<Args...> text, Args&&... args) const {
    if (!condition)
      fail(ErrorKind::kRuntime, "the layer {} {}", node_.label->name, fmt::format(text, std::forward<Args>(args)...));
  }

  void find_parts() {
    const OpDef& layer = find_op(std::ranges::find(kKinds, node_.op->name, &JoinedKind::op)->layer);
    for (Node* part : topological_order(heads_)) {
      for (const NDArray& input : part->inputs)
        require(input.output_index() < output_count(*input.node()), "reads output {} of {} in its body",
                input.output_index(), input.node()->label->name);
      if (is_variable(*part)) {
        places_.emplace(part, places_.size());
        continue;
      }
      require(part->op->control_flow == ControlFlow::kNone, "has {}, which has a body itself, in its body",
              part->label->name);
      if (part->op == &layer) {
        require(layer_ == nullptr, "has two layers in its body");
        layer_ = part;
      } else if (part->op->name == "elemwise_add" && is_convolution_) {
        require(sum_ == nullptr || !a_.quantized, "has two sums in its body");
        sum_ = part;
      }
    }
  }

  // Weights, and the bias, come as floats; otherwise those of a dense layer are bytes with a range each.
  bool has_float_weights() const { return is_convolution_ || (is_dense_ && a_.channel_wise_quantize); }

  // What the body reads as floats and the layer gets as bytes, in the order of the ends of their ranges.
  std::vector<NDArray> byte_inputs() const {
    if (!a_.quantized) return {};
    if (!has_float_weights()) return layer_->inputs;
    std::vector<NDArray> found = {layer_->inputs[0]};
    if (sum_) found.push_back(sum_->inputs[is_variable(*sum_->inputs[1].node()) ? 1 : 0]);
    return found;
  }

  // Inputs of a quantized layer are floats, or bytes; those that a variable of the whole graph holds are int8 unless it
  // says otherwise.
  NDArray variable(size_t k) const {
    Symbol::Texts texts;
    const auto is_it = [&](const NDArray& bytes) { return places_.at(bytes.node().get()) == k; };
    const bool is_bytes = std::ranges::any_of(byte_inputs(), is_it);
    const Node* source = node_.inputs[k].node().get();
    if (a_.quantized && !is_bytes) texts.emplace("__dtype__", kFloat32Text);
    if (is_bytes && source && is_variable(*source)) texts.emplace("__dtype__", kInt8Text);
    return Symbol::variable(fmt::format("input{}", k), std::move(texts)).outputs()[0];
  }

  // --- on floats -----------------------------------------------------------------------------------------------------

  NDArray on_floats(bool names_last) {
    return rewired(heads_, [&](const Node& part, std::span<const NDArray> inputs) {
      return in_place_of(part, inputs, names_last);
    })[0];
  }

  std::vector<NDArray> in_place_of(const Node& part, std::span<const NDArray> inputs, bool names_last) const {
    if (is_variable(part)) return {values_.at(&part)};
    const NodePtr copy = with_inputs(part, {inputs.begin(), inputs.end()});
    if (part.op->name == "BatchNorm") {
      copy->label->attrs["use_global_stats"] = "True";
      copy->attrs = parse_attrs(*copy->op, copy->label->attrs);
    }
    if (&part == last_ && names_last) copy->label->name = node_.label->name;
    return all_outputs(copy);
  }

  // --- on bytes ------------------------------------------------------------------------------------------------------

  std::vector<NDArray> quantized_results() {
    const bool gives_bytes = a_.gives_range() && a_.is_calibrated();
    if (NodePtr layer = on_bytes(gives_bytes))
      return a_.gives_range() && !gives_bytes ? sums_of(output_of(layer.get(), 0)) : all_outputs(layer);
    take_floats();
    const NDArray result = on_floats(!a_.gives_range());
    if (!a_.gives_range()) return {result};
    return gives_bytes ? all_outputs(bytes_of(result)) : sums_of(result);
  }

  // The body, with relu in the place of a clip at 0 and at what the bytes cannot pass anyway.
  std::vector<NDArray> with_relu() const {
    if (last_->op != &find_op("clip")) return heads_;
    const auto end = [this](const char* name) { return std::get<double>(attr_of(*last_, name)); };
    if (end("a_min") != 0 || end("a_max") < calibrated_range()) return heads_;
    return {output_of(named_node("relu", last_->label->name, {last_->inputs[0]}).get(), 0)};
  }

  // The layer as one operator that gives bytes or floats; null where there is none.
  NodePtr on_bytes(bool gives_bytes) const {
    QuantizeOptions options;
    const Symbol fused = with_fused_layers(Symbol(gives_bytes ? with_relu() : heads_), options);
    const Node* const head = fused.outputs()[0].node().get();
    const Quantization* const q = head->op->quantization.get();
    const OpDef* const affine = &find_op("_batch_norm_affine");
    const auto is_part = [&](const Node* part) { return part == head || !part->op || part->op == affine; };
    if (!q || !q->float_attribute || !std::ranges::all_of(topological_order(fused.outputs()), is_part)) return nullptr;
    NodePtr made;
    rewired(fused.outputs(), [&](const Node& part, std::span<const NDArray> inputs) -> std::vector<NDArray> {
      if (is_variable(part)) return {values_.at(&part)};
      if (&part != head) return {};
      made = byte_layer(*head, *q, inputs, gives_bytes);
      return {output_of(made.get(), 0)};
    });
    return made;
  }

  NodePtr byte_layer(const Node& fused, const Quantization& q, std::span<const NDArray> inputs,
                     bool gives_bytes) const {
    std::vector<NDArray> arrays, ends;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool is_kept = q.keeps_input(*fused.attrs, i, inputs.size());
      arrays.push_back(is_kept && !has_float_weights() ? floats_of(inputs[i], i) : inputs[i]);
      if (is_kept || (i == 1 && has_float_weights())) continue;
      const auto own = ends_of(ends.size() / 2);
      ends.insert(ends.end(), own.begin(), own.end());
    }
    arrays.insert(arrays.end(), ends.begin(), ends.end());
    Symbol::Texts texts = fused.label->attrs;
    texts.insert(has_float_weights() ? Symbol::Texts::value_type("float_weight", "True")
                                     : Symbol::Texts::value_type("weight_range", kByteWeightRange));
    if (gives_bytes)
      texts.merge(range_texts(false));
    else
      texts.emplace(q.float_attribute, "True");
    return named_node(q.becomes, node_.label->name, std::move(arrays), std::move(texts));
  }

  // The ends of the range of number `pair` among those of byte_inputs().
  std::array<NDArray, 2> ends_of(size_t pair) const {
    const size_t first = places_.size() + 2 * pair;
    return {inputs_[first], inputs_[first + 1]};
  }

  NDArray floats_of(const NDArray& bytes, size_t pair) const {
    const auto [low, high] = ends_of(pair);
    return output_of(
        named_node("_contrib_dequantize", fmt::format("{}_dequantize{}", node_.label->name, pair), {bytes, low, high})
            .get(),
        0);
  }

  void take_floats() {
    if (has_float_weights()) {
      NDArray& weight = values_.at(layer_->inputs[1].node().get());
      weight = output_of(named_node("_rounded_rows", node_.label->name + "_rounded", {weight}).get(), 0);
    }
    const std::vector<NDArray> bytes = byte_inputs();
    for (size_t k = 0; k < bytes.size(); ++k) {
      NDArray& value = values_.at(bytes[k].node().get());
      value = floats_of(value, k);
    }
  }

  // Results that cannot be negative, as far as MXNet knows, are uint8.
  bool gives_uint8() const {
    static constexpr std::array<std::string_view, 3> kNeverNegative = {"relu", "sigmoid", "softrelu"};
    const std::string& op = last_->op->name;
    if (op == "Activation") {
      const auto kind = last_->label->attrs.find("act_type");
      return kind != last_->label->attrs.end() && std::ranges::count(kNeverNegative, kind->second) > 0;
    }
    return op == "clip" || (is_dense_ && (op == "square" || op == "sqrt" || op == "exp" || op == "abs"));
  }

  double calibrated_range() const { return std::max(std::abs(*a_.min_calib_range), std::abs(*a_.max_calib_range)); }

  Symbol::Texts range_texts(bool is_unsigned) const {
    const double range = calibrated_range();
    return {{"min_calib_range", fmt::format("{}", is_unsigned ? 0.0 : -range)},
            {"max_calib_range", fmt::format("{}", range)}};
  }

  NodePtr bytes_of(const NDArray& result) const {
    Symbol::Texts texts = range_texts(gives_uint8());
    texts.emplace("out_type", gives_uint8() ? "uint8" : "int8");
    return named_node("_contrib_quantize_v2", node_.label->name, {result}, std::move(texts));
  }

  std::vector<NDArray> sums_of(const NDArray& result) const {
    return all_outputs(named_node("_quantize_sums", node_.label->name + "_sums", {result}));
  }

  const Node& node_;
  const JoinedLayerAttrs& a_;
  const bool is_convolution_, is_dense_;
  std::vector<NDArray> heads_;
  const Node *last_ = nullptr, *layer_ = nullptr, *sum_ = nullptr;
  std::unordered_map<const Node*, size_t> places_;   // of the body's variables among the inputs
  std::vector<NDArray> inputs_;                      // variables that stand for the node's
  std::unordered_map<const Node*, NDArray> values_;  // what the body's variables are
};

}  // namespace

OpenedLayer opened_layer(const Node& node) { return JoinedLayer(node).opened(); }

void check_layer(const Node& node) { static_cast<void>(JoinedLayer(node)); }

}  // namespace headrace
