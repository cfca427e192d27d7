// A formula compiled for one compute type: a short list of kernel calls over numbered slots. Immutable after
// construction; threads share it freely.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "op/formula/expr.h"
#include "op/formula/native.h"
#include "op/simd/kernels.h"

namespace headrace {

// Elements that one kernel call works on: every operand of a program stays in the first-level cache.
inline constexpr int64_t kTile = 512;

class Program {
 public:
  // Slots are numbered in this order: scalars (constants, parameters, values computed from those alone), inputs,
  // outputs, fills (a scalar repeated over a tile, where a kernel wants it so), registers.
  struct Instruction {
    Kernel kernel;
    uint16_t result;
    uint16_t arguments[3];
    Opcode opcode;
  };
  struct Fill {
    uint16_t scalar, result;
  };
  union Scalar {
    float float32;
    double float64;
    int32_t int32;
    int64_t int64;
    uint64_t uint64;
  };

  // What runs between two looks at the slots: one instruction, or machine code for several.
  struct Step {
    const NativeCode* native;  // null: the instruction
    const Instruction* instruction;
  };

  // `native`: what machine code may consist of. Raises Error(kValue) when an output names an input or parameter that
  // the formula does not declare.
  Program(const Formula& formula, ComputeType type, NativeSet native = native_set());
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  ComputeType compute_type() const noexcept { return type_; }
  int num_inputs() const noexcept { return num_inputs_; }
  int num_outputs() const noexcept { return num_outputs_; }
  int num_parameters() const noexcept { return num_parameters_; }

  // Carries the instructions over n elements of what the slots point to.
  void execute(void* const* slots, int64_t n) const noexcept {
    for (const Step& step : steps_) {
      if (step.native) {
        (*step.native)(slots, n);
      } else {
        run(*step.instruction, slots, n);
      }
    }
  }
  static void run(const Instruction& item, void* const* slots, int64_t n) noexcept {
    item.kernel(slots[item.result], slots[item.arguments[0]], slots[item.arguments[1]], slots[item.arguments[2]], n);
  }

  // For the machine that runs programs.
  std::span<const Instruction> instructions() const noexcept { return instructions_; }  // on tiles
  std::span<const Step> steps() const noexcept { return steps_; }                       // what carries them out
  std::span<const Instruction> prologue() const noexcept { return prologue_; }          // once, on scalars
  std::span<const Fill> fills() const noexcept { return fills_; }
  std::span<const Scalar> constants() const noexcept { return constants_; }
  int num_scalars() const noexcept { return num_scalars_; }
  int num_registers() const noexcept { return num_registers_; }
  int first_input() const noexcept { return num_scalars_; }
  int first_output() const noexcept { return num_scalars_ + num_inputs_; }
  int first_fill() const noexcept { return first_output() + num_outputs_; }
  int first_register() const noexcept { return first_fill() + static_cast<int>(fills_.size()); }
  int num_slots() const noexcept { return first_register() + num_registers_; }
  // Position of the last instruction that reads an input (-1: none) and of the one that writes an output.
  int last_use_of_input(int i) const noexcept { return input_last_use_[i]; }
  int definition_of_output(int o) const noexcept { return output_definition_[o]; }
  double cost_per_element() const noexcept { return cost_per_element_; }
  // Of all inputs and outputs.
  double bytes_per_element() const noexcept { return bytes_per_element_; }

  // A constant or parameter as a program of a compute type has it.
  static Scalar scalar_of(ComputeType type, double value) noexcept;
  Scalar to_scalar(double value) const noexcept { return scalar_of(type_, value); }

 private:
  friend class ProgramBuilder;

  ComputeType type_;
  int num_inputs_, num_parameters_, num_outputs_;
  int num_scalars_ = 0, num_registers_ = 0;
  std::vector<Scalar> constants_;
  std::vector<Instruction> prologue_, instructions_;
  std::vector<NativeCode> native_;
  std::vector<Step> steps_;
  std::vector<Fill> fills_;
  std::vector<int> input_last_use_, output_definition_;
  double cost_per_element_ = 0;
  double bytes_per_element_;
};

}  // namespace headrace
