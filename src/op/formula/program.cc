#include "op/formula/program.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "op/formula/numeric_cast.h"

namespace headrace {
namespace {

constexpr int kMaxSlots = 60'000;

// The number of the type that is nearest to `value`, so that whatever is compared with it, or bounded by it, is as it
// would be with `value`.
template <class Int>
Int nearest(double value) noexcept {
  using Limits = std::numeric_limits<Int>;
  const double end = std::ldexp(1.0, Limits::digits);  // the first number beyond
  if (value >= end) return Limits::max();
  return value < static_cast<double>(Limits::min()) ? Limits::min() : numeric_cast<Int>(value);
}

bool is_commutative(Opcode op) {
  using enum Opcode;
  return op == kAdd || op == kMul || op == kEq || op == kNe;
}

}  // namespace

// Turns a formula into a program in six steps: number the values (equal ones once), choose what is uniform, pair what
// has a kernel for two, order the rest, find what becomes machine code, give slots. Lives only while a Program is
// constructed.
class ProgramBuilder {
 public:
  ProgramBuilder(Program& program, NativeSet native)
      : program_(program), table_(kernels(program.type_)), native_(native) {}

  void build(const Formula& formula) {
    for (const Expr& node : topological_order(formula.outputs)) number(node);
    for (const Expr& output : formula.outputs) outputs_.push_back(ids_.at(output.node()));
    make_scalars(formula.num_parameters);
    pair_instructions();
    order_instructions();
    choose_native();
    assign_slots();
    emit();
  }

 private:
  enum class Kind { kInput, kConstant, kParameter, kInstruction };
  struct Value {
    Kind kind;
    Opcode opcode = Opcode::kCopy;
    int arity = 0;
    std::array<int, 3> arguments = {-1, -1, -1};
    int index = 0;         // of an input, parameter or constant
    bool uniform = false;  // the same for all elements
    bool is_output = false;
    int slot = -1;
    int last_use = -1;
    int stretch = -1;     // the machine code that computes it
    bool inside = false;  // nothing but that code reads it
  };
  struct Stretch {
    size_t begin, end;  // positions
  };

  void number(const Expr& node) {
    Value value{};
    double constant = 0;
    switch (node.kind()) {
      case Expr::Kind::kInput:
        value = {.kind = Kind::kInput, .index = node.index()};
        check(value.index >= 0 && value.index < program_.num_inputs_, ErrorKind::kValue,
              "formula: input({}) is used, but the formula declares {} inputs; raise num_inputs", value.index,
              program_.num_inputs_);
        break;
      case Expr::Kind::kParameter:
        value = {.kind = Kind::kParameter, .index = node.index(), .uniform = true};
        check(value.index >= 0 && value.index < program_.num_parameters_, ErrorKind::kValue,
              "formula: parameter({}) is used, but the formula declares {} parameters; raise num_parameters",
              value.index, program_.num_parameters_);
        break;
      case Expr::Kind::kConstant:
        value = {.kind = Kind::kConstant, .uniform = true};
        constant = node.value();
        break;
      case Expr::Kind::kInstruction:
        value = {.kind = Kind::kInstruction, .opcode = node.opcode(), .arity = node.arity(), .uniform = true};
        for (int i = 0; i < value.arity; ++i) {
          value.arguments[i] = ids_.at(node.argument(i).node());
          value.uniform &= values_[value.arguments[i]].uniform;
        }
        if (changes_nothing(value.opcode)) {  // only ever a name for its argument
          ids_[node.node()] = value.arguments[0];
          return;
        }
        if (is_commutative(value.opcode) && value.arguments[0] > value.arguments[1])
          std::swap(value.arguments[0], value.arguments[1]);
        break;
    }
    ids_[node.node()] = unique(value, constant);
  }

  // A copy, or rounding to what the program computes in.
  bool changes_nothing(Opcode op) const {
    return op == Opcode::kCopy || (op == Opcode::kToFloat32 && program_.type_ == ComputeType::kFloat32) ||
           (op == Opcode::kToInt32 && program_.type_ == ComputeType::kInt32);
  }

  int unique(Value value, double constant) {
    const auto key =
        std::make_tuple(value.kind, value.opcode, value.arguments, value.index, std::bit_cast<uint64_t>(constant));
    const auto [place, is_new] = known_.emplace(key, static_cast<int>(values_.size()));
    if (is_new) {
      if (value.kind == Kind::kConstant) {
        value.index = static_cast<int>(program_.constants_.size());
        program_.constants_.push_back(program_.to_scalar(constant));
      }
      values_.push_back(value);
    }
    return place->second;
  }

  void make_scalars(int num_parameters) {
    const int num_constants = static_cast<int>(program_.constants_.size());
    int next = num_constants + num_parameters;
    for (size_t id = 0; id < values_.size(); ++id) {
      Value& value = values_[id];
      if (!value.uniform) continue;
      if (value.kind == Kind::kConstant) value.slot = value.index;
      if (value.kind == Kind::kParameter) value.slot = num_constants + value.index;
      if (value.kind == Kind::kInstruction) value.slot = next++;
    }
    program_.num_scalars_ = next;
  }

  // Joins a product with the one sum or difference that reads it, and the other way round. Tiles live in the
  // first-level cache, where stores are what takes the time: a pair stores once.
  void pair_instructions() {
    is_part_of_pair_.assign(values_.size(), false);
    if (program_.type_ != ComputeType::kFloat32 && program_.type_ != ComputeType::kFloat64) return;
    std::vector<int> uses(values_.size());
    for (const Value& value : values_)
      for (int i = 0; i < value.arity; ++i) ++uses[value.arguments[i]];
    for (int output : outputs_) ++uses[output];
    for (Value& value : values_) {
      if (value.kind != Kind::kInstruction || value.uniform || value.arity != 2) continue;
      for (int side = 0; side < 2; ++side) {
        const int id = value.arguments[side];
        const Value& inner = values_[id];
        if (inner.kind != Kind::kInstruction || inner.uniform || uses[id] != 1) continue;
        const Opcode pair = pair_of(value.opcode, inner.opcode, side);
        if (pair == Opcode::kCopy) continue;
        value = {.kind = Kind::kInstruction,
                 .opcode = pair,
                 .arity = 3,
                 .arguments = {inner.arguments[0], inner.arguments[1], value.arguments[1 - side]}};
        // Kernels read a repeated scalar as the second factor or summand.
        if (pair != Opcode::kSubMul && values_[value.arguments[0]].uniform)
          std::swap(value.arguments[0], value.arguments[1]);
        is_part_of_pair_[id] = true;
        break;
      }
    }
  }

  // The instruction for `outer` with `inner` as its argument on that side; kCopy: there is none.
  static Opcode pair_of(Opcode outer, Opcode inner, int side) {
    using enum Opcode;
    if (outer == kAdd && inner == kMul) return kMulAdd;
    if (outer == kSub && inner == kMul) return side == 0 ? kMulSub : kRsubMul;
    if (outer == kMul && inner == kAdd) return kAddMul;
    if (outer == kMul && inner == kSub) return kSubMul;
    return kCopy;
  }

  // The order of the numbering is already one that works: depth first, arguments before users. Outputs that no
  // instruction of their own can write (inputs, scalars, one value twice) get a copy at the end.
  void order_instructions() {
    const int num_values = static_cast<int>(values_.size());
    for (int id = 0; id < num_values; ++id) {
      if (values_[id].kind == Kind::kInstruction && !values_[id].uniform && !is_part_of_pair_[id]) order_.push_back(id);
    }
    for (int& output : outputs_) {
      const bool writable =
          values_[output].kind == Kind::kInstruction && !values_[output].uniform && !values_[output].is_output;
      if (!writable) {
        values_.push_back(
            {.kind = Kind::kInstruction, .opcode = Opcode::kCopy, .arity = 1, .arguments = {output, -1, -1}});
        output = static_cast<int>(values_.size()) - 1;
        order_.push_back(output);
      }
      values_[output].is_output = true;
    }
    for (size_t position = 0; position < order_.size(); ++position) {
      const Value& value = values_[order_[position]];
      for (int i = 0; i < value.arity; ++i) values_[value.arguments[i]].last_use = static_cast<int>(position);
    }
  }

  // Neighbours that machine code can hold together become one step. One instruction alone is what its kernel does best.
  void choose_native() {
    if (native_ == NativeSet::kNone) return;
    std::vector<NativeInstruction> items;
    for (size_t position = 0; position < order_.size(); ++position) items.push_back(native_instruction(position));
    for (size_t begin = 0; begin < items.size();) {
      const size_t count = native_prefix(native_, program_.type_, std::span(items).subspan(begin));
      if (count >= 2) {
        for (size_t k = begin; k < begin + count; ++k) values_[order_[k]].stretch = static_cast<int>(stretches_.size());
        stretches_.push_back({begin, begin + count});
      }
      begin += std::max<size_t>(count, 1);
    }
    for (const int id : order_) values_[id].inside = values_[id].stretch >= 0 && !values_[id].is_output;
    for (const int id : order_) {
      for (int i = 0; i < values_[id].arity; ++i) {
        Value& argument = values_[values_[id].arguments[i]];
        if (argument.stretch != values_[id].stretch) argument.inside = false;
      }
    }
  }

  NativeInstruction native_instruction(size_t position) const {
    const Value& value = values_[order_[position]];
    NativeInstruction item{.opcode = value.opcode, .arity = value.arity, .result = order_[position]};
    item.slot = value.inside ? -1 : value.slot;
    item.read_later = value.last_use > static_cast<int>(position);
    for (int i = 0; i < value.arity; ++i) {
      const Value& argument = values_[value.arguments[i]];
      item.arguments[i] = {.value = value.arguments[i],
                           .slot = argument.slot,
                           .uniform = argument.uniform,
                           .last = argument.last_use == static_cast<int>(position)};
    }
    return item;
  }

  // Registers are named by number here and moved behind the fills in emit().
  void assign_slots() {
    for (Value& value : values_) {
      if (value.kind == Kind::kInput) value.slot = program_.first_input() + value.index;
    }
    for (size_t o = 0; o < outputs_.size(); ++o)
      values_[outputs_[o]].slot = program_.first_output() + static_cast<int>(o);
    std::vector<int> free;
    for (size_t position = 0; position < order_.size(); ++position) {
      Value& value = values_[order_[position]];
      for (int i = 0; i < value.arity; ++i) {
        const Value& argument = values_[value.arguments[i]];
        const bool repeated = std::count(value.arguments.begin(), value.arguments.begin() + i, value.arguments[i]) > 0;
        if (argument.slot >= kRegisterBase && argument.last_use == static_cast<int>(position) && !repeated)
          free.push_back(argument.slot);
      }
      if (value.slot >= 0 || value.inside) continue;  // an output, or nowhere in memory
      if (free.empty()) {
        value.slot = kRegisterBase + program_.num_registers_++;
      } else {
        value.slot = free.back();
        free.pop_back();
      }
    }
  }

  void emit() {
    for (const Value& value : values_) {
      if (value.kind == Kind::kInstruction && value.uniform) program_.prologue_.push_back(instruction(value, false));
    }
    for (const int id : order_) program_.instructions_.push_back(instruction(values_[id], true));
    place_registers();
    make_steps();
    program_.input_last_use_.assign(program_.num_inputs_, -1);
    for (const Value& value : values_) {
      if (value.kind == Kind::kInput) program_.input_last_use_[value.index] = value.last_use;
    }
    for (const int output : outputs_) {
      const auto place = std::find(order_.begin(), order_.end(), output);
      program_.output_definition_.push_back(static_cast<int>(place - order_.begin()));
    }
  }

  // Registers come behind the fills, whose number is known by now.
  void place_registers() {
    const int num_slots = program_.first_register() + program_.num_registers_;
    check(num_slots < kMaxSlots, ErrorKind::kValue, "formula: {} values at once are more than a program can hold ({})",
          num_slots, kMaxSlots);
    const auto moved = [this](int slot) {
      return slot >= kRegisterBase ? slot - kRegisterBase + program_.first_register() : slot;
    };
    for (auto& item : program_.instructions_) {
      item.result = static_cast<uint16_t>(moved(item.result));
      for (uint16_t& argument : item.arguments) argument = static_cast<uint16_t>(moved(argument));
    }
    for (Value& value : values_) value.slot = moved(value.slot);
  }

  void make_steps() {
    for (const Stretch& stretch : stretches_) {
      std::vector<NativeInstruction> items;
      for (size_t k = stretch.begin; k < stretch.end; ++k) items.push_back(native_instruction(k));
      program_.native_.emplace_back(native_, program_.type_, items);
    }
    for (size_t k = 0; k < order_.size(); ++k) {
      const int stretch = values_[order_[k]].stretch;
      if (stretch < 0)
        program_.steps_.push_back({nullptr, &program_.instructions_[k]});
      else if (stretches_[stretch].begin == k)
        program_.steps_.push_back({&program_.native_[stretch], nullptr});
    }
  }

  Program::Instruction instruction(const Value& value, bool on_tiles) {
    int form = 0;
    Program::Instruction result{};
    result.opcode = value.opcode;
    result.result = static_cast<uint16_t>(value.slot);
    for (int i = 0; i < value.arity; ++i) {
      const Value& argument = values_[value.arguments[i]];
      result.arguments[i] = static_cast<uint16_t>(argument.slot);
      if (argument.uniform) form |= 1 << i;
    }
    for (int i = value.arity; i < 3; ++i) result.arguments[i] = result.arguments[0];  // never read, but valid
    add_cost(value, on_tiles);
    if (value.stretch >= 0) return result;
    if (!on_tiles) form = 0;
    result.kernel = table_.get(value.opcode, form);
    for (int i = 0; i < value.arity && result.kernel == nullptr; ++i) {
      if ((form & (1 << i)) == 0) continue;
      form &= ~(1 << i);
      result.arguments[i] = fill_of(result.arguments[i]);
      result.kernel = table_.get(value.opcode, form);
    }
    return result;
  }

  void add_cost(const Value& value, bool on_tiles) {
    constexpr double kNativeShare = 0.4;  // of an instruction's time that is left when nothing goes to memory
    const OpcodeInfo& facts = info(value.opcode);
    const bool is_float = program_.type_ == ComputeType::kFloat32 || program_.type_ == ComputeType::kFloat64;
    const double width = static_cast<double>(item_size(program_.type_)) / 4 * (value.stretch >= 0 ? kNativeShare : 1);
    if (on_tiles) program_.cost_per_element_ += width * (is_float ? facts.float_cost : facts.integer_cost);
  }

  uint16_t fill_of(uint16_t scalar) {
    for (const Program::Fill& fill : program_.fills_) {
      if (fill.scalar == scalar) return fill.result;
    }
    const auto slot = static_cast<uint16_t>(program_.first_fill() + static_cast<int>(program_.fills_.size()));
    program_.fills_.push_back({scalar, slot});
    return slot;
  }

  static constexpr int kRegisterBase = kMaxSlots;

  Program& program_;
  const OpcodeKernels& table_;
  const NativeSet native_;
  std::vector<Value> values_;
  std::map<std::tuple<Kind, Opcode, std::array<int, 3>, int, uint64_t>, int> known_;
  std::unordered_map<const Expr::Node*, int> ids_;
  std::vector<bool> is_part_of_pair_;
  std::vector<int> outputs_, order_;
  std::vector<Stretch> stretches_;
};

Program::Program(const Formula& formula, ComputeType type, NativeSet native)
    : type_(type),
      num_inputs_(formula.num_inputs),
      num_parameters_(formula.num_parameters),
      num_outputs_(static_cast<int>(formula.outputs.size())),
      bytes_per_element_(static_cast<double>(num_inputs_ + num_outputs_) * static_cast<double>(item_size(type))) {
  check(!formula.outputs.empty(), ErrorKind::kValue, "formula: expected at least one output, got none");
  ProgramBuilder(*this, native).build(formula);
}

Program::Scalar Program::scalar_of(ComputeType type, double value) noexcept {
  Scalar scalar{.int64 = 0};
  switch (type) {
    case ComputeType::kFloat32:
      scalar.float32 = static_cast<float>(value);
      break;
    case ComputeType::kFloat64:
      scalar.float64 = value;
      break;
    case ComputeType::kInt32:
      scalar.int32 = nearest<int32_t>(value);
      break;
    case ComputeType::kInt64:
      scalar.int64 = nearest<int64_t>(value);
      break;
    case ComputeType::kUint64:
      scalar.uint64 = value < 0 ? numeric_cast<uint64_t>(value) : nearest<uint64_t>(value);
      break;
  }
  return scalar;
}

}  // namespace headrace
