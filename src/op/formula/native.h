// Machine code made at run time: several instructions of a program as one loop, which keeps what lies between them in
// registers where kernels would write it to tiles. The bits are those of the kernels. x86-64 with AVX2 or AVX-512,
// float32 and float64; elsewhere no code is made. Immutable; any thread may run it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "op/simd/kernels.h"

namespace headrace {

// The instructions that code is made of.
enum class NativeSet : uint8_t { kNone, kAvx2, kAvx512 };
NativeSet machine_set() noexcept;  // the best that this machine can run, and its system lets run
NativeSet native_set();            // the one to use: the best, or kNone where HEADRACE_NATIVE=0

// Values have numbers, and equal numbers mean one value.
struct NativeOperand {
  int value = -1;
  int slot = -1;         // where it lies when it is not made by the same code
  bool uniform = false;  // a scalar
  bool last = false;     // no later instruction reads it
};

struct NativeInstruction {
  Opcode opcode = Opcode::kCopy;
  int arity = 0;
  std::array<NativeOperand, 3> arguments = {};
  int result = -1;
  int slot = -1;            // where the result is stored; -1: only the same code reads it
  bool read_later = false;  // by some instruction, of this code or another
};

// How many of the leading instructions one piece of code can hold: limits are what can be expressed and the number of
// registers. Slots need not be known yet.
size_t native_prefix(NativeSet set, ComputeType type, std::span<const NativeInstruction> instructions);

class NativeCode {
 public:
  // What native_prefix has admitted. Raises Error(kMemory) when the system gives no memory for code.
  NativeCode(NativeSet set, ComputeType type, std::span<const NativeInstruction> instructions);

  // Elements [0, n) of what the slots point to. Nothing beyond them is read or written.
  void operator()(void* const* slots, int64_t n) const noexcept { function_(slots, n); }

 private:
  using Function = void (*)(void* const* slots, int64_t n) noexcept;
  Function function_ = nullptr;
  std::shared_ptr<const void> memory_;  // holds the function
};

}  // namespace headrace
