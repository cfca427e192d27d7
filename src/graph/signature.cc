#include "graph/signature.h"

#include <algorithm>
#include <array>
#include <limits>

#include "graph/labels.h"
#include "graph/nodes.h"

namespace headrace {
namespace {

constexpr size_t kMostInputs = 1 << 16;  // that a text may ask for

// What MXNet says of an operator beyond its definition here.
struct ArrayNames {
  std::string_view op;
  std::string_view inputs = {};                         // of any number of them: "data" is data0, data1
  std::array<std::string_view, 3> outputs = {};         // empty: output, or output0, output1
  size_t counted = 0;                                   // outputs with those that nobody sees; 0: as many as there are
  std::array<std::string_view, 5> initial_values = {};  // of inputs
};

constexpr std::string_view kZero = R"(["zero", {}])", kOne = R"(["one", {}])";

constexpr auto kArrayNames = std::to_array<ArrayNames>({
    {.op = "BatchNorm",
     .outputs = {"output", "mean", "var"},
     .counted = 3,
     .initial_values = {"", "", "", kZero, kOne}},
    {.op = "Dropout", .counted = 2},
    {.op = "GroupNorm", .outputs = {"output", "mean", "std"}, .counted = 3},
    {.op = "InstanceNorm", .counted = 3},
    {.op = "L2Normalization", .counted = 2},
    {.op = "LRN", .counted = 2},
    {.op = "LayerNorm", .outputs = {"output", "mean", "std"}, .counted = 3},
    {.op = "LeakyReLU", .initial_values = {"", R"(["Constant", {"value": 0.25}])"}},
    {.op = "RNN", .outputs = {"output", "state", "state_cell"}},
    {.op = "UpSampling", .initial_values = {"", R"(["bilinear", {}])"}},
    {.op = "_contrib_BatchNormWithReLU",
     .outputs = {"output", "mean", "var"},
     .counted = 4,
     .initial_values = {"", "", "", kZero, kOne}},
    {.op = "_contrib_SyncBatchNorm",
     .outputs = {"output", "mean", "var"},
     .counted = 3,
     .initial_values = {"", "", "", kZero, kOne}},
    {.op = "_npi_concatenate", .inputs = "data", .outputs = {"out"}},
    {.op = "_npi_dstack", .inputs = "data", .outputs = {"out"}},
    {.op = "_npi_hstack", .inputs = "data", .outputs = {"out"}},
    {.op = "_npi_matmul", .outputs = {"out"}},
    {.op = "_npi_norm", .outputs = {"output0"}, .counted = 4},
    {.op = "_npi_std", .outputs = {"std"}, .counted = 2},
    {.op = "_npi_var", .outputs = {"var"}, .counted = 2},
    {.op = "amp_multicast", .inputs = "data_"},
    {.op = "make_loss", .outputs = {"loss"}},
    {.op = "multi_all_finite", .inputs = "array_"},
    {.op = "multi_sum_sq", .inputs = "array_"},
    {.op = "reset_arrays", .inputs = "array_"},
    {.op = "sort", .outputs = {"output0"}, .counted = 2},
});
static_assert(std::ranges::is_sorted(kArrayNames, {}, &ArrayNames::op));

// Numbers that make no sense whatever the inputs are.
struct Bounds {
  std::string_view op, field;
  double least = 1, most = std::numeric_limits<int32_t>::max();
};

constexpr auto kBounds = std::to_array<Bounds>({
    {"Convolution", "num_filter"},
    {"Crop", "num_args", 1, 3},
    {"Deconvolution", "num_filter"},
    {"Dropout", "p", 0, 1},
    {"Embedding", "input_dim"},
    {"Embedding", "output_dim"},
    {"FullyConnected", "num_hidden"},
    {"SliceChannel", "num_outputs"},
    {"SoftmaxOutput", "smooth_alpha", 0, 1},
    {"UpSampling", "scale"},
    {"_contrib_BilinearResize2D", "height"},
    {"_contrib_BilinearResize2D", "width"},
});
static_assert(std::ranges::is_sorted(kBounds, {}, &Bounds::op));

const ArrayNames& array_names_of(const OpDef& op) {
  static constexpr ArrayNames kNone{};
  const auto found = std::ranges::lower_bound(kArrayNames, std::string_view(op.name), {}, &ArrayNames::op);
  return found != kArrayNames.end() && found->op == op.name ? *found : kNone;
}

// An attribute as text; "None" where the operator has none of this name.
std::string text_of(const Node& node, const char* name) {
  const FieldInfo* field = node.op->schema->find(name);
  return field ? attr_to_text(field->get(node.attrs->data())) : "None";
}

// Of an operator that takes any number of inputs: the attribute that says how many; null where none does.
const FieldInfo* count_field(const OpDef& op) {
  for (const char* name : {"num_args", "num_arrays", "num_outputs"})
    if (const FieldInfo* field = op.schema->find(name)) return field;
  return nullptr;
}

// Its num_args counts the bodies, and nobody leaves out an input.
bool is_control_flow(const OpDef& op) {
  return op.name == "_cond" || op.name == "_foreach" || op.name == "_while_loop";
}

size_t wanted_of_any_number(const Node& node, size_t given) {
  const OpDef& op = *node.op;
  if (is_control_flow(op)) return given;
  size_t wanted = op.input_count ? op.input_count(*node.attrs) : given;
  const FieldInfo* field = count_field(op);
  if (!field) return std::max(wanted, given);
  if (!op.input_count && node.label->attrs.contains(field->name))
    wanted = static_cast<size_t>(std::max<int64_t>(std::get<int64_t>(field->get(node.attrs->data())), 0));
  check(wanted > 0, ErrorKind::kRuntime, "{}: at least one input is needed; give some, or say how many in {}", op.name,
        field->name);
  check(wanted <= kMostInputs, ErrorKind::kRuntime, "{}: {} of {} is more than the {} inputs that a node may have",
        op.name, field->name, wanted, kMostInputs);
  return wanted;
}

// Pooling keeps where its maxima were when oneDNN computes it.
bool keeps_maxima(const Node& node) {
  const FieldInfo* kernel = node.op->schema->find("kernel");
  const AttrValue value = kernel->get(node.attrs->data());
  const std::string layout = text_of(node, "layout");
  return text_of(node, "pool_type") == "max" && !std::get<Shape>(value).empty() &&
         (layout == "None" || layout.starts_with("NC"));
}

}  // namespace

void check_bounds(const OpDef& op, const Attrs& attrs) {
  for (const Bounds& bounds : std::ranges::equal_range(kBounds, std::string_view(op.name), {}, &Bounds::op)) {
    const FieldInfo* field = op.schema->find(bounds.field);
    if (!field) continue;
    const AttrValue value = field->get(attrs.data());
    const auto* whole = std::get_if<int64_t>(&value);
    const double number = whole ? static_cast<double>(*whole) : std::get<double>(value);
    check(number >= bounds.least && number <= bounds.most, ErrorKind::kValue, "{}: {} must be from {} to {}, got {}",
          op.name, bounds.field, bounds.least, bounds.most, attr_to_text(value));
  }
}

size_t wanted_inputs(const Node& node, size_t given) {
  const OpDef& op = *node.op;
  const size_t least = input_count(op, *node.attrs), most = op.input_count ? least : op.inputs.size();
  const size_t wanted = op.variadic ? wanted_of_any_number(node, given) : std::clamp(given, least, most);
  check(given <= wanted, ErrorKind::kRuntime, "{}: {} inputs are taken, got {}", op.name, wanted, given);
  return wanted;
}

std::string input_name(const Node& node, size_t i) {
  const OpDef& op = *node.op;
  if (!op.variadic) return op.inputs[i];
  if (op.name == "UpSampling" && text_of(node, "sample_type") == "bilinear") return i == 0 ? "data" : "weight";
  const std::string_view prefix = array_names_of(op).inputs;
  return fmt::format("{}{}", prefix.empty() ? "arg" : prefix, i);
}

std::string initial_value(const Node& node, size_t i) {
  const ArrayNames& names = array_names_of(*node.op);
  return std::string(i < names.initial_values.size() ? names.initial_values[i] : std::string_view());
}

std::string output_name(const Node& node, uint32_t index) {
  const std::string& name = node.label->name;
  if (!node.op) return name;
  const ArrayNames& names = array_names_of(*node.op);
  if (index < names.outputs.size() && !names.outputs[index].empty())
    return fmt::format("{}_{}", name, names.outputs[index]);
  const bool is_only = visible_output_count(node) == 1 && (node.op->name != "topk" || counted_outputs(node) == 1);
  return is_only ? name + "_output" : fmt::format("{}_output{}", name, index);
}

size_t counted_outputs(const Node& node) {
  if (!node.op) return 1;
  const std::string& name = node.op->name;
  if (name == "Pooling") return keeps_maxima(node) ? 2 : 1;
  if (name == "LeakyReLU") return text_of(node, "act_type") == "rrelu" ? 2 : 1;
  if (name == "topk") return text_of(node, "ret_typ") == "value" || text_of(node, "ret_typ") == "both" ? 2 : 1;
  const size_t counted = array_names_of(*node.op).counted;
  return counted ? counted : output_count(node);
}

}  // namespace headrace
