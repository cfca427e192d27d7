#include "op/pointwise.h"

#include <algorithm>

#include "base/check.h"
#include "op/formula/gradient.h"
#include "op/gradient.h"
#include "op/invoke.h"

namespace headrace {
namespace {

// `expression` with input i replaced by input map[i].
Expr renumber(const Expr& expression, std::span<const int> map) {
  std::vector<Expr> inputs;
  for (int i : map) inputs.push_back(input(std::max(i, 0)));
  return substitute(expression, inputs, {});
}

// The gradient of input `i` as a formula over (inputs, outputs, heads).
Expr gradient_formula(const OpDef& op, const Pointwise& body, int i) {
  int inputs = body.formula.num_inputs, outputs = static_cast<int>(op.outputs);
  if (!body.gradient) {
    Formula derived = gradient(body.formula, i);
    std::vector<int> map;
    for (int k = 0; k < derived.num_inputs; ++k) map.push_back(k < inputs ? k : k + outputs);
    return renumber(derived.outputs[0], map);
  }
  std::vector<Expr> arguments;
  for (int k = 0; k < inputs + 2 * outputs; ++k) arguments.push_back(input(k));
  for (int k = 0; k < body.formula.num_parameters && arguments.size() < body.gradient.arity(); ++k)
    arguments.push_back(parameter(k));
  std::vector<Expr> all = body.gradient(arguments);
  return all[static_cast<size_t>(i)];
}

// A condition comes first among what its formula reads, and has no part in the dtype of the gradient either.
DTypeRule gradient_rule(const Pointwise& body) {
  const bool chooses = body.dtypes == dtype_rules::choice_same || body.dtypes == dtype_rules::choice_promoted;
  return chooses ? dtype_rules::choice_promoted : dtype_rules::promoted;
}

// A pointwise operator for one gradient, over only the sources that its formula reads.
PointwiseGradient make_gradient(const OpDef& op, const Pointwise& body, int i) {
  PointwiseGradient result;
  Expr formula = gradient_formula(op, body, i);
  if (formula.is_constant(0)) return result;
  if (formula.kind() == Expr::Kind::kInput) {
    result.pass = formula.index();
    return result;
  }
  std::vector<int> map(static_cast<size_t>(body.formula.num_inputs) + 2 * op.outputs, -1);
  for (const Expr& e : topological_order({formula}))
    if (e.kind() == Expr::Kind::kInput) map[static_cast<size_t>(e.index())] = 0;
  for (size_t k = 0; k < map.size(); ++k) {
    if (map[k] < 0) continue;
    map[k] = static_cast<int>(result.sources.size());
    result.sources.push_back(static_cast<uint32_t>(k));
  }
  auto derived = std::make_shared<Pointwise>();
  derived->formula = {static_cast<int>(result.sources.size()), body.formula.num_parameters, {renumber(formula, map)}};
  derived->dtypes = gradient_rule(body);
  derived->parameter_offsets = body.parameter_offsets;
  auto* made = new OpDef;  // lives as long as the operator it belongs to: for ever
  made->name = "_backward_" + op.name + (body.formula.num_inputs > 1 ? fmt::format("_{}", i) : "");
  made->inputs.assign(result.sources.size(), "data");
  made->schema = op.schema;
  made->make_attrs = op.make_attrs;
  made->default_attrs = op.default_attrs;
  set_pointwise(*made, std::move(derived));
  result.op = made;
  return result;
}

void gradient_of_pointwise(Gradient& g) {
  const OpDef& op = g.op();
  size_t inputs = g.input_count(), outputs = op.outputs;
  auto source = [&](uint32_t k) -> const NDArray& {
    return k < inputs ? g.input(k) : k < inputs + outputs ? g.output(k - inputs) : g.head(k - inputs - outputs);
  };
  const auto& gradients = op.pointwise->gradients(op);
  for (size_t i = 0; i < inputs; ++i) {
    const PointwiseGradient& one = gradients.of_input[i];
    if (!g.wants(i) || (one.pass < 0 && !one.op)) continue;
    const Shape& shape = g.input(i).shape();
    DType dtype = g.input(i).dtype();
    if (one.pass >= 0) {
      g.set(i, cast_to(sum_to_shape(source(static_cast<uint32_t>(one.pass)), shape), dtype));
      continue;
    }
    std::vector<NDArray> arguments;
    bool direct = g.head().shape() == shape;
    for (uint32_t k : one.sources) {
      arguments.push_back(source(k));
      direct &= arguments.back().dtype() == dtype;
    }
    if (direct)
      g.set(i, *one.op, g.attrs(), arguments);
    else
      g.set(i, cast_to(sum_to_shape(invoke_all(*one.op, g.attrs(), arguments)[0], shape), dtype));
  }
}

bool is_whole(ComputeType type) noexcept { return type != ComputeType::kFloat32 && type != ComputeType::kFloat64; }

// Of a type of whole numbers; false for what is no number.
bool is_in_range(ComputeType type, double value) noexcept {
  if (type == ComputeType::kUint64) return value >= 0 && value < 0x1p64;
  const double end = type == ComputeType::kInt32 ? 0x1p31 : 0x1p63;
  return value >= -end && value < end;
}

}  // namespace

PointwiseTypes Pointwise::types(const char* operation, std::span<const DType> inputs, const Attrs& attrs) const {
  PointwiseTypes types = dtypes(operation, inputs, attrs);
  const char* const base = static_cast<const char*>(attrs.data());
  const auto has_parameter = [&](const auto& is_so) {
    return std::ranges::any_of(parameter_offsets,
                               [&](size_t offset) { return is_so(*reinterpret_cast<const double*>(base + offset)); });
  };
  // Of what no integer is equal to, comparisons with the nearest one would say something else.
  const bool compares_integers = types.result == DType::kBool && is_whole(types.compute);
  if (compares_integers && has_parameter([&](double v) { return !is_in_range(types.compute, v); }))
    types.compute = ComputeType::kFloat64;
  if (types.compute != ComputeType::kUint64) [[likely]]
    return types;
  if (has_parameter([](double v) { return v < 0; }))
    types.compute = types.result == DType::kBool ? ComputeType::kFloat64 : ComputeType::kInt64;
  return types;
}

void set_pointwise(OpDef& op, std::shared_ptr<const Pointwise> body) {
  op.outputs = body->formula.outputs.size() - body->state_inputs.size();
  for (uint32_t i : body->state_inputs) op.mutates |= 1u << i;
  op.gradient = [](Gradient& g, const Attrs&) { gradient_of_pointwise(g); };
  op.pointwise = std::move(body);
}

OpDef make_pointwise(PointwiseSpec spec) {
  OpDef op = std::move(spec.op);
  auto body = std::make_shared<Pointwise>();
  for (const FieldInfo& field : op.schema->fields)
    if (field.kind == FieldKind::kDouble && !field.nullable) body->parameter_offsets.push_back(field.offset);
  int inputs = static_cast<int>(op.inputs.size()), parameters = static_cast<int>(body->parameter_offsets.size());
  check(static_cast<int>(spec.formula.arity()) == inputs + parameters, ErrorKind::kRuntime,
        "operator {}: its formula takes {} arguments, but it has {} inputs and {} numeric attributes", op.name,
        spec.formula.arity(), inputs, parameters);
  std::vector<Expr> arguments;
  for (int i = 0; i < inputs; ++i) arguments.push_back(input(i));
  for (int k = 0; k < parameters; ++k) arguments.push_back(parameter(k));
  body->formula = {inputs, parameters, spec.formula(arguments)};
  body->choices = conditions_on_parameters(body->formula);
  body->dtypes = spec.dtypes;
  body->equal_shapes = spec.equal_shapes;
  body->gradient = std::move(spec.gradient);
  body->state_inputs = std::move(spec.state_inputs);
  set_pointwise(op, std::move(body));
  if (op.zero_gradient || !spec.differentiable) op.gradient = nullptr;
  return op;
}

Pointwise::~Pointwise() {
  for (auto& program : programs_) delete program.load();
  for (auto& of_type : decided_)
    for (auto& program : of_type) delete program.load();
}

uint64_t Pointwise::next_serial() noexcept {
  static std::atomic<uint64_t> last{0};
  return 1 + last.fetch_add(1, std::memory_order_relaxed);
}

const Program& Pointwise::decided_program(ComputeType type, uint32_t decisions) const {
  std::atomic<const Program*>& place = decided_[static_cast<size_t>(type)][decisions];
  if (const Program* known = place.load(std::memory_order_acquire)) return *known;
  std::lock_guard guard(decided_mutex_);
  if (!place.load(std::memory_order_relaxed))
    place.store(new Program(with_decisions(formula, choices, decisions), type), std::memory_order_release);
  return *place.load(std::memory_order_relaxed);
}

const Program& Pointwise::compile(ComputeType type) const {
  size_t slot = static_cast<size_t>(type);
  std::call_once(program_once_[slot], [&] { programs_[slot].store(new Program(formula, type)); });
  return *programs_[slot].load();
}

const Pointwise::Gradients& Pointwise::gradients(const OpDef& op) const {
  std::call_once(gradients_once_, [&] {
    uint32_t inputs = static_cast<uint32_t>(formula.num_inputs), outputs = static_cast<uint32_t>(op.outputs);
    for (uint32_t i = 0; i < inputs; ++i) {
      PointwiseGradient one = op.gradient ? make_gradient(op, *this, static_cast<int>(i)) : PointwiseGradient{};
      if (one.pass >= 0) one.sources = {static_cast<uint32_t>(one.pass)};
      for (uint32_t k : one.sources) {
        if (k < inputs)
          gradients_.saves_inputs |= 1u << k;
        else if (k < inputs + outputs)
          gradients_.saves_outputs |= 1u << (k - inputs);
      }
      gradients_.of_input.push_back(std::move(one));
    }
  });
  return gradients_;
}

}  // namespace headrace
