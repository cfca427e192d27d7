#if defined(__x86_64__)

#include "op/formula/vector_assembler.h"

#include <bit>

#include <hwy/highway.h>

namespace headrace {

using Xbyak::Address;
using Xbyak::Operand;

VectorAssembler::Level VectorAssembler::machine_level() noexcept {
  const int64_t targets = hwy::SupportedTargets();
  if (targets & (HWY_AVX3 | HWY_AVX3_DL)) return Level::kAvx512;
  return targets & HWY_AVX2 ? Level::kAvx2 : Level::kNone;
}

bool VectorAssembler::has(Opcode op, ComputeType type) noexcept {
  using enum Opcode;
  if (type != ComputeType::kFloat32 && type != ComputeType::kFloat64) return false;
  switch (op) {
    case kCopy:
    case kNeg:
    case kAbs:
    case kSqrt:
    case kRsqrt:
    case kSquare:
    case kFloor:
    case kCeil:
    case kTrunc:
    case kRint:
    case kIsNan:
    case kLogicalNot:
    case kToBool:
    case kAdd:
    case kSub:
    case kMul:
    case kDiv:
    case kMin:
    case kMax:
    case kEq:
    case kNe:
    case kLt:
    case kLe:
    case kLogicalAnd:
    case kLogicalOr:
    case kSelect:
    case kMulAdd:
    case kMulSub:
    case kRsubMul:
    case kAddMul:
    case kSubMul:
      return true;
    default:
      return false;
  }
}

VectorAssembler::VectorAssembler(size_t capacity, ComputeType type, Level level)
    : CodeGenerator(capacity),
      single_(type == ComputeType::kFloat32),
      level_(level),
      bytes_(level == Level::kAvx512 ? 64 : 32),
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

void VectorAssembler::apply(Opcode op, const Vector& d, const Vector& a, const Vector& b, const Vector& c) {
  const auto compared = [&](const Vector& x, const Operand& y, Predicate predicate) {
    compare(0, x, y, predicate);
    truth(d, 0);
  };
  const auto is_true = [&](int m, const Vector& x) { compare(m, x, constant(zero_), kNotEqual); };
  switch (op) {
    case Opcode::kCopy:
      return move(d, a);
    case Opcode::kNeg:
      return vxorps(d, a, constant(sign_));
    case Opcode::kAbs:
      move(t0_, constant(sign_));
      return vandnps(d, t0_, a);
    case Opcode::kSqrt:
      return root(d, a);
    case Opcode::kRsqrt:
      root(t0_, a);
      move(t1_, constant(one_));
      return quotient(d, t1_, t0_);
    case Opcode::kSquare:
      return product(d, a, a);
    case Opcode::kFloor:
      return round(d, a, kDown);
    case Opcode::kCeil:
      return round(d, a, kUp);
    case Opcode::kTrunc:
      return round(d, a, kToZero);
    case Opcode::kRint:
      return round(d, a, kNearest);
    case Opcode::kIsNan:
      return compared(a, a, kUnordered);
    case Opcode::kLogicalNot:
      return compared(a, constant(zero_), kEqual);
    case Opcode::kToBool:
      return compared(a, constant(zero_), kNotEqual);
    case Opcode::kAdd:
      return sum(d, a, b);
    case Opcode::kSub:
      return difference(d, a, b);
    case Opcode::kMul:
      return product(d, a, b);
    case Opcode::kDiv:
      return quotient(d, a, b);
    case Opcode::kMin:
      return extreme(d, a, b, false);
    case Opcode::kMax:
      return extreme(d, a, b, true);
    case Opcode::kEq:
      return compared(a, b, kEqual);
    case Opcode::kNe:
      return compared(a, b, kNotEqual);
    case Opcode::kLt:
      return compared(a, b, kLess);
    case Opcode::kLe:
      return compared(a, b, kLessEqual);
    case Opcode::kLogicalAnd:
      is_true(0, a), is_true(1, b), intersect(0, 1);
      return truth(d, 0);
    case Opcode::kLogicalOr:
      is_true(0, a), is_true(1, b), unite(0, 1);
      return truth(d, 0);
    case Opcode::kSelect:
      compare(0, a, constant(zero_), kEqual);
      return choose(d, 0, c, b);
    case Opcode::kMulAdd:
      product(t0_, a, b);
      return sum(d, t0_, c);
    case Opcode::kMulSub:
      product(t0_, a, b);
      return difference(d, t0_, c);
    case Opcode::kRsubMul:
      product(t0_, a, b);
      return difference(d, c, t0_);
    case Opcode::kAddMul:
      sum(t0_, a, b);
      return product(d, t0_, c);
    case Opcode::kSubMul:
      difference(t0_, a, b);
      return product(d, t0_, c);
    default:
      break;  // has() excludes the rest
  }
}

void VectorAssembler::emit_constants() {
  const auto emit = [&](Xbyak::Label& label, auto value) {
    align(64);
    L(label);
    for (int64_t i = 0; i < width(); ++i) single_ ? dd(static_cast<uint32_t>(value(i))) : dq(value(i));
  };
  emit(zero_, [](int64_t) { return uint64_t{0}; });
  emit(one_, [&](int64_t) -> uint64_t { return single_ ? std::bit_cast<uint32_t>(1.0f) : std::bit_cast<uint64_t>(1.0); });
  emit(sign_, [&](int64_t) { return uint64_t{1} << (single_ ? 31 : 63); });
  emit(numbers_, [](int64_t i) { return static_cast<uint64_t>(i); });
}

}  // namespace headrace

#endif
