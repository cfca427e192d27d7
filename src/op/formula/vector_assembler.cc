#if defined(__x86_64__)

#include "op/formula/vector_assembler.h"

#include <array>
#include <bit>

namespace headrace {

using Xbyak::Address;
using Xbyak::Operand;

bool VectorAssembler::has(Opcode op, ComputeType type) {
  if (type != ComputeType::kFloat32 && type != ComputeType::kFloat64) return false;
  using Known = std::array<bool, kOpcodeCount>;
  const auto find_known = [](ComputeType of) {
    constexpr size_t kEnough = 1 << 16;
    VectorAssembler trial(kEnough, of, NativeSet::kAvx2);
    Known known{};
    const Vector d = trial.vector(2), a = trial.vector(3), b = trial.vector(4), c = trial.vector(5);
    for (size_t i = 0; i < known.size(); ++i) known[i] = trial.apply(static_cast<Opcode>(i), d, a, b, c);
    return known;
  };
  static const Known kSingle = find_known(ComputeType::kFloat32), kDouble = find_known(ComputeType::kFloat64);
  return (type == ComputeType::kFloat32 ? kSingle : kDouble)[static_cast<size_t>(op)];
}

VectorAssembler::VectorAssembler(size_t capacity, ComputeType type, NativeSet set)
    : CodeGenerator(capacity, Xbyak::DontSetProtectRWE),  // memory is never writable and executable at once
      single_(type == ComputeType::kFloat32),
      set_(set),
      bytes_(set == NativeSet::kAvx512 ? 64 : 32),
      t0_(vector(0)),
      t1_(vector(1)),
      part_(vector(15)) {}

VectorAssembler::Vector VectorAssembler::vector(int index) const noexcept {
  return Vector(wide() ? Operand::ZMM : Operand::YMM, index);
}

void VectorAssembler::load_scalar(const Vector& to, const Address& from) {
  single_ ? vbroadcastss(to, from) : vbroadcastsd(Xbyak::Ymm(to.getIdx(), to.getKind(), to.getBit()), from);
}

void VectorAssembler::load(const Vector& to, const Address& from, bool part) {
  if (!part) return move(to, from);
  if (wide()) {
    const Vector masked = to | k1 | T_z;
    single_ ? vmovups(masked, from) : vmovupd(masked, from);
  } else {
    single_ ? vmaskmovps(to, part_, from) : vmaskmovpd(to, part_, from);
  }
}

void VectorAssembler::store(const Address& to, const Vector& from, bool part) {
  if (part && !wide()) {
    single_ ? vmaskmovps(to, part_, from) : vmaskmovpd(to, part_, from);
    return;
  }
  const Address place = part ? to | k1 : to;
  single_ ? vmovups(place, from) : vmovupd(place, from);
}

void VectorAssembler::set_part(const Xbyak::Reg64& count) {
  if (wide()) {
    mov(eax, -1);
    bzhi(eax, eax, count.cvt32());
    kmovw(k1, eax);
    return;
  }
  const Xbyak::Xmm low(part_.getIdx());
  vmovq(low, count);
  if (single_) {
    vpbroadcastd(part_, low);
    vpcmpgtd(part_, part_, constant(numbers_));
  } else {
    vpbroadcastq(part_, low);
    vpcmpgtq(part_, part_, constant(numbers_));
  }
}

void VectorAssembler::move(const Vector& d, const Operand& a) { single_ ? vmovups(d, a) : vmovupd(d, a); }

void VectorAssembler::sum(const Vector& d, const Vector& a, const Vector& b) {
  single_ ? vaddps(d, a, b) : vaddpd(d, a, b);
}

void VectorAssembler::difference(const Vector& d, const Vector& a, const Vector& b) {
  single_ ? vsubps(d, a, b) : vsubpd(d, a, b);
}

void VectorAssembler::product(const Vector& d, const Vector& a, const Vector& b) {
  single_ ? vmulps(d, a, b) : vmulpd(d, a, b);
}

void VectorAssembler::quotient(const Vector& d, const Vector& a, const Vector& b) {
  single_ ? vdivps(d, a, b) : vdivpd(d, a, b);
}

void VectorAssembler::root(const Vector& d, const Vector& a) { single_ ? vsqrtps(d, a) : vsqrtpd(d, a); }

void VectorAssembler::round(const Vector& d, const Vector& a, Rounding rounding) {
  if (wide())
    single_ ? vrndscaleps(d, a, rounding) : vrndscalepd(d, a, rounding);
  else
    single_ ? vroundps(d, a, rounding) : vroundpd(d, a, rounding);
}

void VectorAssembler::compare(int m, const Vector& a, const Operand& b, Predicate predicate) {
  if (wide())
    single_ ? vcmpps(mask(m), a, b, predicate) : vcmppd(mask(m), a, b, predicate);
  else
    single_ ? vcmpps(vector(m), a, b, predicate) : vcmppd(vector(m), a, b, predicate);
}

void VectorAssembler::unite(int m, int other) {
  wide() ? korw(mask(m), mask(m), mask(other)) : vorps(vector(m), vector(m), vector(other));
}

void VectorAssembler::intersect(int m, int other) {
  wide() ? kandw(mask(m), mask(m), mask(other)) : vandps(vector(m), vector(m), vector(other));
}

void VectorAssembler::choose(const Vector& d, int m, const Vector& where_set, const Vector& elsewhere) {
  if (wide())
    single_ ? vblendmps(d | mask(m), elsewhere, where_set) : vblendmpd(d | mask(m), elsewhere, where_set);
  else
    single_ ? vblendvps(d, elsewhere, where_set, vector(m)) : vblendvpd(d, elsewhere, where_set, vector(m));
}

void VectorAssembler::truth(const Vector& d, int m) {
  if (wide()) return move(d | mask(m) | T_z, constant(one_));
  vandps(d, vector(m), constant(one_));
}

// As the comparison leaves it: a where it is as good as b or a NaN, else b.
void VectorAssembler::extreme(const Vector& d, const Vector& a, const Vector& b, bool largest) {
  largest ? compare(0, b, a, kLessEqual) : compare(0, a, b, kLessEqual);
  compare(1, a, a, kUnordered);
  unite(0, 1);
  choose(d, 0, a, b);
}

// A zero gives 0 and a NaN itself.
void VectorAssembler::sign(const Vector& d, const Vector& a) {
  move(t0_, constant(sign_));
  vandps(d, t0_, a);
  vorps(d, d, constant(one_));
  compare(0, a, a, kUnordered);
  choose(d, 0, a, d);
  vxorps(t1_, t1_, t1_);
  compare(0, a, constant(zero_), kEqual);
  choose(d, 0, t1_, d);
}

void VectorAssembler::to_float16(const Vector& d, const Vector& a) {
  const Vector half = wide() ? Vector(Xbyak::Ymm(d.getIdx())) : Vector(d.getIdx());
  vcvtps2ph(half, a, kNearest);
  vcvtph2ps(d, half);
}

// To the nearest, to even where two are as near; NaNs become quiet.
void VectorAssembler::to_bfloat16(const Vector& d, const Vector& a) {
  vpsrld(t0_, a, 16);
  vandps(t0_, t0_, constant(last_bit_));
  vpaddd(t0_, t0_, constant(below_half_));
  vpaddd(t0_, t0_, a);
  compare(1, a, a, kUnordered);
  vorps(d, a, constant(quiet_bit_));
  choose(d, 1, d, t0_);
  vandps(d, d, constant(high_half_));
}

bool VectorAssembler::apply(Opcode op, const Vector& d, const Vector& a, const Vector& b, const Vector& c) {
  return apply_arithmetic(op, d, a, b, c) || apply_choice(op, d, a, b, c) || apply_rounding(op, d, a);
}

bool VectorAssembler::apply_arithmetic(Opcode op, const Vector& d, const Vector& a, const Vector& b, const Vector& c) {
  switch (op) {
    case Opcode::kNeg:
      return vxorps(d, a, constant(sign_)), true;
    case Opcode::kAbs:
      move(t0_, constant(sign_));
      return vandnps(d, t0_, a), true;
    case Opcode::kSqrt:
      return root(d, a), true;
    case Opcode::kRsqrt:
      root(t0_, a);
      move(t1_, constant(one_));
      return quotient(d, t1_, t0_), true;
    case Opcode::kSquare:
      return product(d, a, a), true;
    case Opcode::kAdd:
      return sum(d, a, b), true;
    case Opcode::kSub:
      return difference(d, a, b), true;
    case Opcode::kMul:
      return product(d, a, b), true;
    case Opcode::kDiv:
      return quotient(d, a, b), true;
    case Opcode::kMulAdd:
      product(t0_, a, b);
      return sum(d, t0_, c), true;
    case Opcode::kMulSub:
      product(t0_, a, b);
      return difference(d, t0_, c), true;
    case Opcode::kRsubMul:
      product(t0_, a, b);
      return difference(d, c, t0_), true;
    case Opcode::kAddMul:
      sum(t0_, a, b);
      return product(d, t0_, c), true;
    case Opcode::kSubMul:
      difference(t0_, a, b);
      return product(d, t0_, c), true;
    default:
      return false;
  }
}

bool VectorAssembler::apply_choice(Opcode op, const Vector& d, const Vector& a, const Vector& b, const Vector& c) {
  const auto compared = [&](const Vector& x, const Operand& y, Predicate predicate) {
    compare(0, x, y, predicate);
    truth(d, 0);
    return true;
  };
  const auto both = [&](void (VectorAssembler::*join)(int, int)) {
    compare(0, a, constant(zero_), kNotEqual);
    compare(1, b, constant(zero_), kNotEqual);
    (this->*join)(0, 1);
    truth(d, 0);
    return true;
  };
  switch (op) {
    case Opcode::kIsNan:
      return compared(a, a, kUnordered);
    case Opcode::kLogicalNot:
      return compared(a, constant(zero_), kEqual);
    case Opcode::kToBool:
      return compared(a, constant(zero_), kNotEqual);
    case Opcode::kEq:
      return compared(a, b, kEqual);
    case Opcode::kNe:
      return compared(a, b, kNotEqual);
    case Opcode::kLt:
      return compared(a, b, kLess);
    case Opcode::kLe:
      return compared(a, b, kLessEqual);
    case Opcode::kLogicalAnd:
      return both(&VectorAssembler::intersect);
    case Opcode::kLogicalOr:
      return both(&VectorAssembler::unite);
    case Opcode::kMin:
      return extreme(d, a, b, false), true;
    case Opcode::kMax:
      return extreme(d, a, b, true), true;
    case Opcode::kSelect:
      compare(0, a, constant(zero_), kEqual);
      return choose(d, 0, c, b), true;
    default:
      return false;
  }
}

bool VectorAssembler::apply_rounding(Opcode op, const Vector& d, const Vector& a) {
  switch (op) {
    case Opcode::kCopy:
      return move(d, a), true;
    case Opcode::kSign:
      return sign(d, a), true;
    case Opcode::kFloor:
      return round(d, a, kDown), true;
    case Opcode::kCeil:
      return round(d, a, kUp), true;
    case Opcode::kTrunc:
      return round(d, a, kToZero), true;
    case Opcode::kRint:
      return round(d, a, kNearest), true;
    case Opcode::kToFloat16:
      return single_ && (to_float16(d, a), true);
    case Opcode::kToBfloat16:
      return single_ && (to_bfloat16(d, a), true);
    default:
      return false;
  }
}

void VectorAssembler::emit_constants() {
  const auto emit = [&](Xbyak::Label& label, auto value_of) {
    align(64);
    L(label);
    for (int64_t i = 0; i < width(); ++i) {
      const uint64_t value = value_of(i);
      single_ ? dd(static_cast<uint32_t>(value)) : dq(value);
    }
  };
  const auto repeat = [&](Xbyak::Label& label, uint64_t value) { emit(label, [=](int64_t) { return value; }); };
  repeat(zero_, 0);
  repeat(one_, single_ ? std::bit_cast<uint32_t>(1.0f) : std::bit_cast<uint64_t>(1.0));
  repeat(sign_, uint64_t{1} << (single_ ? 31 : 63));
  emit(numbers_, [](int64_t i) { return static_cast<uint64_t>(i); });
  repeat(last_bit_, 1);
  repeat(below_half_, 0x7fff);
  repeat(quiet_bit_, 0x400000);
  repeat(high_half_, 0xffff0000);
}

}  // namespace headrace

#endif
