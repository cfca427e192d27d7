// uniform and normal of nd and np with numbers as parameters.

#include "base/check.h"
#include "op/expect.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/random/fill.h"

namespace headrace {
namespace {

struct NdUniformAttrs {
  double low = 0, high = 1;
  Shape shape = {1};
  std::optional<DType> dtype = {};
  std::optional<std::string> ctx = {};
  static constexpr auto kFields =
      fields(field(&NdUniformAttrs::low, "low", "Lower bound."), field(&NdUniformAttrs::high, "high", "Upper bound."),
             field(&NdUniformAttrs::shape, "shape", "Shape of the result."),
             field(&NdUniformAttrs::dtype, "dtype", "A float dtype; None: float32."),
             field(&NdUniformAttrs::ctx, "ctx", "Device of the result; None: the current one."));
};

struct NdNormalAttrs {
  double loc = 0, scale = 1;
  Shape shape = {1};
  std::optional<DType> dtype = {};
  std::optional<std::string> ctx = {};
  static constexpr auto kFields =
      fields(field(&NdNormalAttrs::loc, "loc", "Mean."), field(&NdNormalAttrs::scale, "scale", "Standard deviation."),
             field(&NdNormalAttrs::shape, "shape", "Shape of the result."),
             field(&NdNormalAttrs::dtype, "dtype", "A float dtype; None: float32."),
             field(&NdNormalAttrs::ctx, "ctx", "Device of the result; None: the current one."));
};

struct NpUniformAttrs {
  double low = 0, high = 1;
  Shape size = {};
  std::optional<DType> dtype = {};
  std::optional<std::string> ctx = {};
  static constexpr auto kFields =
      fields(field(&NpUniformAttrs::low, "low", "Lower bound."), field(&NpUniformAttrs::high, "high", "Upper bound."),
             field(&NpUniformAttrs::size, "size", "Shape of the result."),
             field(&NpUniformAttrs::dtype, "dtype", "A float dtype; None: float32."),
             field(&NpUniformAttrs::ctx, "ctx", "Device of the result; None: the current one."));
};

struct NpNormalAttrs {
  double loc = 0, scale = 1;
  Shape size = {};
  std::optional<DType> dtype = {};
  std::optional<std::string> ctx = {};
  static constexpr auto kFields =
      fields(field(&NpNormalAttrs::loc, "loc", "Mean."), field(&NpNormalAttrs::scale, "scale", "Standard deviation."),
             field(&NpNormalAttrs::size, "size", "Shape of the result."),
             field(&NpNormalAttrs::dtype, "dtype", "A float dtype; None: float32."),
             field(&NpNormalAttrs::ctx, "ctx", "Device of the result; None: the current one."));
};

// The affine image of standard variates that the attributes ask for, and where it goes.
struct Affine {
  double offset, factor;
  const Shape& shape;
};
Affine affine_of(const NdUniformAttrs& a) { return {a.low, a.high - a.low, a.shape}; }
Affine affine_of(const NpUniformAttrs& a) { return {a.low, a.high - a.low, a.size}; }
Affine affine_of(const NdNormalAttrs& a) { return {a.loc, a.scale, a.shape}; }
Affine affine_of(const NpNormalAttrs& a) { return {a.loc, a.scale, a.size}; }

template <class A, Streams kStreams>
void infer_fill(Infer& i, const A& a) {
  Affine affine = affine_of(a);
  DType dtype = a.dtype.value_or(DType::kFloat32);
  i.require(is_floating(dtype), ErrorKind::kType, "dtype must be a float dtype, got {}", dtype_name(dtype));
  expect_extents(i, affine.shape);
  if constexpr (std::is_same_v<A, NpNormalAttrs>)
    i.require(!(a.scale < 0), ErrorKind::kValue, "scale must not be negative, got {}", a.scale);
  i.output(affine.shape, dtype);
  if (a.ctx) i.device(parse_device(*a.ctx));
  i.cost(100 + static_cast<double>(element_count(affine.shape)) * 1.0);
  generators().draw(i, kStreams);
}

template <VariateKind kKind, class A, Streams kStreams>
void run_fill(KernelContext& c, const A& a) {
  const Tensor& out = c.output(0);
  Affine affine = affine_of(a);
  if constexpr (std::is_same_v<A, NdNormalAttrs>)
    check(!(a.scale < 0), ErrorKind::kValue, "{}: scale must not be negative, got {}", c.name(), a.scale);
  if constexpr (std::is_same_v<A, NdUniformAttrs>)
    check(!(a.low > a.high), ErrorKind::kValue, "{}: low must not be above high, got {} and {}", c.name(), a.low,
          a.high);
  // MXNet draws np's samples in float whatever their dtype is, and nd's of float16 in double.
  const bool as_mxnet = c.ticket() == kMtTicket;
  const bool in_double =
      as_mxnet ? kStreams == Streams::kParallel && out.dtype != DType::kFloat32 : out.dtype == DType::kFloat64;
  draw_variates(c, {kKind, kStreams, in_double, affine.offset, affine.factor}, out);
}

template <VariateKind kKind, Streams kStreams, class A>
OpDef drawing(OpDef g, A sample) {
  g.inputs = {};
  g.infer = infer_fill<A, kStreams>;
  g.kernel = run_fill<kKind, A, kStreams>;
  g.is_random = true;
  g.zero_gradient = true;
  g.samples = {Sample({}, make_attrs(std::move(sample)))};
  return general<A>(std::move(g));
}

}  // namespace

Operators uniform_normal_operators() {
  return {
      drawing<VariateKind::kUniform, Streams::kParallel, NdUniformAttrs>(
          {.name = "_random_uniform",
           .aliases = {"uniform", "random_uniform"},
           .python = {"nd.random_uniform", "nd.uniform"},
           .doc = "Samples of the uniform distribution on [low, high)."},
          {.low = -1, .shape = {2, 3}}),
      drawing<VariateKind::kNormal, Streams::kParallel, NdNormalAttrs>(
          {.name = "_random_normal",
           .aliases = {"normal", "random_normal"},
           .python = {"nd.random_normal", "nd.normal"},
           .doc = "Samples of the normal distribution. A negative scale is an MXNetError of the result."},
          {.shape = {2, 3}, .dtype = DType::kFloat64}),
      drawing<VariateKind::kUniform, Streams::kSequential, NpUniformAttrs>(
          {.name = "_np_uniform", .doc = "Samples of the uniform distribution on [low, high)."}, {.size = {2, 3}}),
      drawing<VariateKind::kNormal, Streams::kSequential, NpNormalAttrs>(
          {.name = "_np_normal", .doc = "Samples of the normal distribution. Raises ValueError for a negative scale."},
          {.size = {2, 3}, .dtype = DType::kFloat16}),
  };
}

}  // namespace headrace
