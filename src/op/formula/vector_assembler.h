// Emits x86-64 vector instructions for one element type and one width, so that what an Opcode means is written once for
// AVX2 and AVX-512, float32 and float64. Registers 0 and 1 are for its own use, and with AVX2 register 15.
#pragma once

#include <cstdint>

#include <xbyak/xbyak.h>
#include <xbyak/xbyak_util.h>

#include "op/formula/native.h"

namespace headrace {

class VectorAssembler : public Xbyak::CodeGenerator {
 public:
  using Vector = Xbyak::Xmm;  // of the width in use

  static bool has(Opcode op, ComputeType type);  // whether apply() knows it
  static constexpr int kFirstRegister = 2;
  static int register_count(NativeSet set) noexcept { return set == NativeSet::kAvx512 ? 32 : 15; }

  VectorAssembler(size_t capacity, ComputeType type, NativeSet set);

  int64_t width() const noexcept { return bytes_ / item_bytes(); }  // elements of a vector
  int64_t bytes() const noexcept { return bytes_; }                 // of a vector
  Vector vector(int index) const noexcept;

  void load_scalar(const Vector& to, const Xbyak::Address& from);
  // `part`: only the elements that set_part has named.
  void load(const Vector& to, const Xbyak::Address& from, bool part);
  void store(const Xbyak::Address& to, const Vector& from, bool part);
  // The first `count` elements, fewer than width(). Destroys rax.
  void set_part(const Xbyak::Reg64& count);

  // d = op(a, b, c), those that the instruction takes; d is none of them. False when it cannot be expressed.
  bool apply(Opcode op, const Vector& d, const Vector& a, const Vector& b, const Vector& c);

  // What the code refers to, behind its end.
  void emit_constants();

 private:
  enum Predicate : uint8_t { kEqual = 0x00, kUnordered = 0x03, kNotEqual = 0x04, kLess = 0x11, kLessEqual = 0x12 };
  enum Rounding : uint8_t { kNearest = 0x8, kDown = 0x9, kUp = 0xa, kToZero = 0xb };  // raising no exception

  bool wide() const noexcept { return set_ == NativeSet::kAvx512; }
  int64_t item_bytes() const noexcept { return single_ ? 4 : 8; }
  Xbyak::Opmask mask(int m) const noexcept { return Xbyak::Opmask(2 + m); }
  Xbyak::Address constant(const Xbyak::Label& label) { return ptr[rip + label]; }

  bool apply_arithmetic(Opcode op, const Vector& d, const Vector& a, const Vector& b, const Vector& c);
  bool apply_choice(Opcode op, const Vector& d, const Vector& a, const Vector& b, const Vector& c);
  bool apply_rounding(Opcode op, const Vector& d, const Vector& a);

  void move(const Vector& d, const Xbyak::Operand& a);
  void sum(const Vector& d, const Vector& a, const Vector& b);
  void difference(const Vector& d, const Vector& a, const Vector& b);
  void product(const Vector& d, const Vector& a, const Vector& b);
  void quotient(const Vector& d, const Vector& a, const Vector& b);
  void root(const Vector& d, const Vector& a);
  void round(const Vector& d, const Vector& a, Rounding rounding);
  // Masks 0 and 1 are registers 0 and 1 with AVX2, mask registers with AVX-512.
  void compare(int m, const Vector& a, const Xbyak::Operand& b, Predicate predicate);
  void unite(int m, int other);
  void intersect(int m, int other);
  void choose(const Vector& d, int m, const Vector& where_set, const Vector& elsewhere);
  void truth(const Vector& d, int m);
  void extreme(const Vector& d, const Vector& a, const Vector& b, bool largest);
  void sign(const Vector& d, const Vector& a);
  void to_float16(const Vector& d, const Vector& a);
  void to_bfloat16(const Vector& d, const Vector& a);

  bool single_;
  NativeSet set_;
  int64_t bytes_;
  Vector t0_, t1_, part_;
  Xbyak::Label zero_, one_, sign_, numbers_, last_bit_, below_half_, quiet_bit_, high_half_;
};

}  // namespace headrace
