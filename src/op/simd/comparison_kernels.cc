// Vector kernels of comparisons and logic for every compute type, and of selection for the integer ones.
#include "op/simd/kernels.h"
#include "op/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "op/simd/comparison_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "op/simd/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR
void add(OpcodeKernels&, ComputeType) {}  // the lane kernels serve there
#else

// Predicate::test(d, a [, b]) gives a mask; the instruction gives 1 where it is set and 0 elsewhere.
template <Opcode op, int arity, class Predicate>
struct Truth : Kind<op, arity> {
  template <class D, class... V>
  static HWY_INLINE hn::Vec<D> apply(D d, V... x) {
    return hn::IfThenElseZero(Predicate::test(d, x...), hn::Set(d, 1));
  }
};

// Not Ne: on some targets that is false for a NaN.
template <class D, class V>
HWY_INLINE auto is_true(D d, V x) {
  return hn::Not(hn::Eq(x, hn::Zero(d)));
}

struct Equal {
  template <class D, class V>
  static HWY_INLINE auto test(D, V a, V b) {
    return hn::Eq(a, b);
  }
};

struct NotEqual {
  template <class D, class V>
  static HWY_INLINE auto test(D, V a, V b) {
    return hn::Not(hn::Eq(a, b));
  }
};

struct Less {
  template <class D, class V>
  static HWY_INLINE auto test(D, V a, V b) {
    return hn::Lt(a, b);
  }
};

struct LessEqual {
  template <class D, class V>
  static HWY_INLINE auto test(D, V a, V b) {
    if constexpr (hwy::IsFloat<hn::TFromV<V>>()) {
      return hn::Le(a, b);
    } else {
      return hn::Not(hn::Lt(b, a));
    }
  }
};

struct And {
  template <class D, class V>
  static HWY_INLINE auto test(D d, V a, V b) {
    return hn::And(is_true(d, a), is_true(d, b));
  }
};

struct Or {
  template <class D, class V>
  static HWY_INLINE auto test(D d, V a, V b) {
    return hn::Or(is_true(d, a), is_true(d, b));
  }
};

struct Xor {
  template <class D, class V>
  static HWY_INLINE auto test(D d, V a, V b) {
    return hn::Xor(is_true(d, a), is_true(d, b));
  }
};

struct IsTrue {
  template <class D, class V>
  static HWY_INLINE auto test(D d, V a) {
    return is_true(d, a);
  }
};

struct Not {
  template <class D, class V>
  static HWY_INLINE auto test(D d, V a) {
    return hn::Eq(a, hn::Zero(d));
  }
};

struct IsNan {
  template <class D, class V>
  static HWY_INLINE auto test(D, V a) {
    return hn::IsNaN(a);
  }
};

struct IsInf {
  template <class D, class V>
  static HWY_INLINE auto test(D, V a) {
    return hn::IsInf(a);
  }
};

struct IsFinite {
  template <class D, class V>
  static HWY_INLINE auto test(D, V a) {
    return hn::IsFinite(a);
  }
};

template <class T>
void add_common(OpcodeKernels& table) {
  using enum Opcode;
  add_all_kernels<T, Truth<kEq, 2, Equal>, Truth<kNe, 2, NotEqual>, Truth<kLt, 2, Less>, Truth<kLe, 2, LessEqual>,
                  Truth<kLogicalAnd, 2, And>, Truth<kLogicalOr, 2, Or>, Truth<kLogicalXor, 2, Xor>,
                  Truth<kLogicalNot, 1, Not>, Truth<kToBool, 1, IsTrue>>(table);
}

template <class T>
void add_classification(OpcodeKernels& table) {
  using enum Opcode;
  add_all_kernels<T, Truth<kIsNan, 1, IsNan>, Truth<kIsInf, 1, IsInf>, Truth<kIsFinite, 1, IsFinite>>(table);
}

void add(OpcodeKernels& table, ComputeType type) {
  switch (type) {
    case ComputeType::kFloat32:
      return add_common<float>(table), add_classification<float>(table);
    case ComputeType::kFloat64:
      return add_common<double>(table), add_classification<double>(table);
    case ComputeType::kInt32:
      return add_common<int32_t>(table);
    case ComputeType::kInt64:
      return add_common<int64_t>(table);
    case ComputeType::kUint64:
      return add_common<uint64_t>(table);
  }
}

#endif

}  // namespace
}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(add);

void add_comparison_kernels(OpcodeKernels& table, ComputeType type) { HWY_DYNAMIC_DISPATCH(add)(table, type); }

}  // namespace headrace
#endif
