// The samplers that symbols hold for np.random and npx.random, with MXNet's names and attributes. Where an attribute is
// None the next input holds that parameter; parameters are broadcast against each other.

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/invoke.h"
#include "op/promote.h"
#include "op/result_dtype.h"

namespace headrace {
namespace {

// Floats as they are; integers and bools are computed in float32.
DType computing_dtype(DType dtype) { return is_floating(dtype) ? dtype : DType::kFloat32; }

using Arrays = std::span<const NDArray>;
using Number = std::optional<double>;

// The shape that all parameters have together; () of numbers.
Shape common_shape(const char* op, Arrays arrays) {
  Shape result;
  for (const NDArray& array : arrays) {
    const Shape& shape = array.shape();
    while (result.size() < shape.size()) result.insert(size_t{0}, 1);
    for (size_t k = 1; k <= shape.size(); ++k) {
      int64_t& extent = result[result.size() - k];
      const int64_t other = shape[shape.size() - k];
      check(extent == other || extent == 1 || other == 1, ErrorKind::kValue,
            "{}: parameters of shape {} cannot be broadcast to {}", op, to_string(shape), to_string(result));
      if (extent == 1) extent = other;
    }
  }
  return result;
}

// Whether `size` is that of the result, or stands in front of the shape of the parameters.
enum class Size : uint8_t { kOfResult, kOfBatch };

// One call: its parameters, each an array or a number, and the type of its result.
struct Draw {
  const char* op;
  Arrays arrays;
  std::vector<Number> numbers;
  Shape shape;
  DType dtype;
  std::optional<std::string> ctx;

  template <class A>
  Draw(const char* name, Arrays in, const A& a, Size size) : op(name), arrays(in), numbers(a.numbers()), ctx(a.ctx) {
    const auto missing = static_cast<size_t>(std::ranges::count(numbers, Number{}));
    check(missing == in.size(), ErrorKind::kValue,
          "{}: there is an input for every parameter that is None; {} are None, but there are {} inputs", op, missing,
          in.size());
    if (a.size) shape = *a.size;
    if (!a.size || size == Size::kOfBatch)
      for (int64_t extent : common_shape(op, in)) shape.push_back(extent);
    dtype = DType::kFloat32;
    if constexpr (requires { a.dtype; }) dtype = a.dtype;
    if (!in.empty()) ctx = to_string(in[0].device());
  }

  bool of_numbers() const { return arrays.empty(); }
  AttrValue device() const { return ctx && !ctx->empty() ? AttrValue(*ctx) : AttrValue(std::monostate{}); }

  // Parameter k as an array.
  NDArray parameter(size_t k, DType as) const {
    if (numbers[k]) return full({}, *numbers[k], as, arrays[0].device());
    const auto before =
        static_cast<size_t>(std::count(numbers.begin(), numbers.begin() + static_cast<long>(k), Number{}));
    return cast_to(arrays[before], as);
  }
};

// Samples of a distribution that _draw knows by `name`.
NDArray drawn(const Draw& d, const char* name) {
  const OpDef& op = find_op("_draw");
  Doubles numbers;
  std::vector<NDArray> arrays;
  if (d.of_numbers())
    for (const Number& number : d.numbers) numbers.push_back(*number);
  else
    for (size_t k = 0; k < d.numbers.size(); ++k)
      arrays.push_back(call("_npi_broadcast_to", {d.parameter(k, computing_dtype(d.dtype))}, {{"shape", d.shape}}));
  AttrsPtr attrs = attrs_of(op, {{"distribution", std::string(name)},
                                 {"parameters", numbers},
                                 {"shape", d.of_numbers() ? d.shape : Shape{}},
                                 {"dtype", d.dtype},
                                 {"sequential", true},
                                 {"ctx", d.device()}});
  return invoke_all(op, attrs, arrays)[0];
}

// offset + factor * standard, the standard variates being those of np's operator `standard` without parameters.
NDArray moved(const Draw& d, const char* standard, const NDArray& offset, const NDArray& factor) {
  NDArray variates = call(standard, {}, {{"size", d.shape}, {"dtype", d.dtype}, {"ctx", d.device()}});
  return variates * factor + offset;
}

NDArray draw_uniform(const Draw& d) {
  if (d.of_numbers())
    return call(
        "_np_uniform", {},
        {{"low", *d.numbers[0]}, {"high", *d.numbers[1]}, {"size", d.shape}, {"dtype", d.dtype}, {"ctx", d.device()}});
  const NDArray low = d.parameter(0, d.dtype);
  return moved(d, "_np_uniform", low, d.parameter(1, d.dtype) - low);
}

NDArray draw_normal(const Draw& d) {
  if (d.of_numbers())
    return call(
        "_np_normal", {},
        {{"loc", *d.numbers[0]}, {"scale", *d.numbers[1]}, {"size", d.shape}, {"dtype", d.dtype}, {"ctx", d.device()}});
  return moved(d, "_np_normal", d.parameter(0, d.dtype), d.parameter(1, d.dtype));
}

// Those of rate 1, scaled.
NDArray draw_exponential(const Draw& d) {
  Draw standard = d;
  standard.arrays = {};
  standard.numbers = {1.0};
  if (!d.of_numbers()) return drawn(standard, "exponential") * d.parameter(0, d.dtype);
  check(*d.numbers[0] >= 0, ErrorKind::kValue, "{}: scale must not be negative, got {}", d.op, *d.numbers[0]);
  return call("_npi_multiply_scalar", {drawn(standard, "exponential")}, {{"scalar", *d.numbers[0]}});
}

constexpr char kNumberDoc[] = "A number; None: an input holds it.";
constexpr char kSizeDoc[] = "Shape of the result; None: that of the parameters together.";
constexpr char kDtypeDoc[] = "Dtype of the result.";
constexpr char kCtxDoc[] = "Device of the result, unless parameters are arrays; None: the current one.";

struct UniformAttrs {
  Number low = 0, high = 1;
  std::optional<Shape> size = {};
  DType dtype = DType::kFloat32;
  std::optional<std::string> ctx = {};
  static constexpr auto kFields =
      fields(field(&UniformAttrs::low, "low", kNumberDoc), field(&UniformAttrs::high, "high", kNumberDoc),
             field(&UniformAttrs::size, "size", kSizeDoc), field(&UniformAttrs::dtype, "dtype", kDtypeDoc),
             field(&UniformAttrs::ctx, "ctx", kCtxDoc));
  std::vector<Number> numbers() const { return {low, high}; }
};

struct NormalAttrs {
  Number loc = 0, scale = 1;
  std::optional<Shape> size = {};
  DType dtype = DType::kFloat32;
  std::optional<std::string> ctx = {};
  static constexpr auto kFields =
      fields(field(&NormalAttrs::loc, "loc", kNumberDoc), field(&NormalAttrs::scale, "scale", kNumberDoc),
             field(&NormalAttrs::size, "size", kSizeDoc), field(&NormalAttrs::dtype, "dtype", kDtypeDoc),
             field(&NormalAttrs::ctx, "ctx", kCtxDoc));
  std::vector<Number> numbers() const { return {loc, scale}; }
};

struct LocationAttrs {
  Number loc = 0, scale = 1;
  std::optional<Shape> size = {};
  std::optional<std::string> ctx = {};
  static constexpr auto kFields =
      fields(field(&LocationAttrs::loc, "loc", kNumberDoc), field(&LocationAttrs::scale, "scale", kNumberDoc),
             field(&LocationAttrs::size, "size", kSizeDoc), field(&LocationAttrs::ctx, "ctx", kCtxDoc));
  std::vector<Number> numbers() const { return {loc, scale}; }
};

struct ScaleAttrs {
  Number scale = 1;
  std::optional<Shape> size = {};
  std::optional<std::string> ctx = {};
  static constexpr auto kFields =
      fields(field(&ScaleAttrs::scale, "scale", kNumberDoc), field(&ScaleAttrs::size, "size", kSizeDoc),
             field(&ScaleAttrs::ctx, "ctx", kCtxDoc));
  std::vector<Number> numbers() const { return {scale}; }
};

struct ShapeAttrs {
  Number a = {};
  std::optional<Shape> size = {};
  std::optional<std::string> ctx = {};
  static constexpr auto kFields =
      fields(field(&ShapeAttrs::a, "a", kNumberDoc), field(&ShapeAttrs::size, "size", kSizeDoc),
             field(&ShapeAttrs::ctx, "ctx", kCtxDoc));
  std::vector<Number> numbers() const { return {a}; }
};

struct PoissonAttrs {
  Number lam = 1;
  std::optional<Shape> size = {};
  std::optional<std::string> ctx = {};
  static constexpr auto kFields =
      fields(field(&PoissonAttrs::lam, "lam", kNumberDoc), field(&PoissonAttrs::size, "size", kSizeDoc),
             field(&PoissonAttrs::ctx, "ctx", kCtxDoc));
  std::vector<Number> numbers() const { return {lam}; }
};

struct NumpyGammaAttrs {
  Number shape = 1, scale = 1;
  std::optional<Shape> size = {};
  DType dtype = DType::kFloat32;
  std::optional<std::string> ctx = {};
  static constexpr auto kFields =
      fields(field(&NumpyGammaAttrs::shape, "shape", kNumberDoc), field(&NumpyGammaAttrs::scale, "scale", kNumberDoc),
             field(&NumpyGammaAttrs::size, "size", kSizeDoc), field(&NumpyGammaAttrs::dtype, "dtype", kDtypeDoc),
             field(&NumpyGammaAttrs::ctx, "ctx", kCtxDoc));
  std::vector<Number> numbers() const { return {shape, scale}; }
};

struct BernoulliAttrs {
  Number prob = {}, logit = {};
  std::optional<Shape> size = {};
  DType dtype = DType::kFloat32;
  std::optional<std::string> ctx = {};
  bool is_logit = false;
  static constexpr auto kFields =
      fields(field(&BernoulliAttrs::prob, "prob", "Probability of a one; None: an input holds it, or logit counts."),
             field(&BernoulliAttrs::logit, "logit", "Its logit; None: an input holds it, or prob counts."),
             field(&BernoulliAttrs::size, "size", kSizeDoc), field(&BernoulliAttrs::dtype, "dtype", kDtypeDoc),
             field(&BernoulliAttrs::ctx, "ctx", kCtxDoc),
             field(&BernoulliAttrs::is_logit, "is_logit", "Whether the parameter is the logit."));
  std::vector<Number> numbers() const { return {is_logit ? logit : prob}; }
};

// Numbers as parameters, arrays, and both.
std::vector<Sample> samples_of(const OpDef& op, size_t parameters) {
  const auto call_with = [&](size_t arrays) {
    IntrusivePtr<Attrs> attrs = op.make_attrs();
    const auto set = [&](const FieldInfo& field, const AttrValue& value) {
      field.set(attrs->mutable_data(), value, field, op.name.c_str());
    };
    for (size_t k = 0; k < parameters; ++k)
      set(op.schema->fields[k],
          k < arrays ? AttrValue(std::monostate{}) : AttrValue(0.4 + 0.3 * static_cast<double>(k)));
    set(*op.schema->find("size"), Shape{3, 4});
    return Sample(std::vector<SampleArray>(arrays, uniform({4}, 0.2, 1)), AttrsPtr(attrs.get()));
  };
  std::vector<Sample> samples;
  for (size_t arrays = 0; arrays <= parameters; ++arrays) samples.push_back(call_with(arrays));
  return samples;
}

template <class A>
OpDef sampler(const char* name, const char* doc, std::function<NDArray(const Draw&)> draw,
              Size size = Size::kOfResult) {
  const size_t parameters = A{}.numbers().size();
  OpDef op = general<A>(
      {.name = name,
       .doc = doc,
       .inputs = parameters == 2 ? std::vector<std::string>{"input1", "input2"} : std::vector<std::string>{"input1"},
       .optional_inputs = parameters,
       .result_dtype = result_dtypes::asked_or(DType::kFloat32),
       .compose = [name, draw, size](Arrays in, const A& a) -> std::vector<NDArray> {
         return {draw(Draw(name, in, a, size))};
       },
       .is_random = true});
  op.samples = samples_of(op, parameters);
  return op;
}

template <class A>
OpDef sampler(const char* name, const char* doc, const char* distribution) {
  return sampler<A>(name, doc, [distribution](const Draw& d) { return drawn(d, distribution); });
}

OpDef poisson() {
  OpDef op = sampler<PoissonAttrs>("_np_poisson", "Samples of the Poisson distribution with mean lam, as int64.",
                                   [](const Draw& d) {
                                     Draw integers = d;
                                     integers.dtype = DType::kInt64;
                                     return drawn(integers, "poisson");
                                   });
  op.result_dtype = result_dtypes::always(DType::kInt64);
  return op;
}

OpDef bernoulli() {
  return general<BernoulliAttrs>(
      {.name = "_npi_bernoulli",
       .doc = "Zeros and ones. Raises ValueError for a probability outside of [0, 1].",
       .inputs = {"input1"},
       .optional_inputs = 1,
       .compose = [](Arrays in, const BernoulliAttrs& a) -> std::vector<NDArray> {
         Draw d("_npi_bernoulli", in, a, Size::kOfResult);
         if (!a.is_logit) return {drawn(d, "bernoulli")};
         if (d.of_numbers()) {
           d.numbers[0] = 1 / (1 + std::exp(-*d.numbers[0]));
           return {drawn(d, "bernoulli")};
         }
         const NDArray probability = call("_npx_sigmoid", {cast_to(in[0], DType::kFloat32)});
         d.arrays = {&probability, 1};
         return {drawn(d, "bernoulli")};
       },
       .is_random = true,
       .samples = {Sample({}, make_attrs(BernoulliAttrs{.prob = 0.5, .size = Shape{3, 4}})),
                   Sample({uniform({3, 4}, 0.2, 0.8)}),
                   Sample({uniform({4})}, make_attrs(BernoulliAttrs{.size = Shape{3, 4}, .is_logit = true}))}});
}

struct VectorAttrs {
  std::optional<Shape> size = {};
  static constexpr auto kFields =
      fields(field(&VectorAttrs::size, "size", "Shape in front of that of the parameters together; None: ()."));
};

// mean + L z, for L L^T the covariance and z of the standard normal distribution.
NDArray draw_vectors(const NDArray& mean, const NDArray& cov, const VectorAttrs& a) {
  const Shape& square = cov.shape();
  check(mean.ndim() > 0 && square.size() > 1 && square.back() == mean.shape().back() &&
            square[square.size() - 2] == square.back(),
        ErrorKind::kValue,
        "random.multivariate_normal: expected a mean of shape (..., k) and a covariance of shape (..., k, k), got {} "
        "and {}",
        to_string(mean.shape()), to_string(square));
  const DType dtype = computing_dtype(cov.dtype());
  const NDArray factor = cast_to(call("_npi_cholesky", {cast_to(cov, DType::kFloat64)}), dtype);
  const NDArray row = call("slice_axis", {cov}, {{"axis", int64_t{-1}}, {"begin", int64_t{0}}, {"end", int64_t{1}}});
  const NDArray parameters[] = {mean, call("squeeze", {row}, {{"axis", Shape{-1}}})};
  Shape shape = a.size.value_or(Shape{});
  for (int64_t extent : common_shape("random.multivariate_normal", parameters)) shape.push_back(extent);
  Shape column = shape;
  column.push_back(1);
  const NDArray draws =
      call("_np_normal", {},
           {{"loc", 0.0}, {"scale", 1.0}, {"size", column}, {"dtype", dtype}, {"ctx", to_string(mean.device())}});
  const NDArray product = call("_npi_matmul", {factor, draws});
  return call("_npi_add", {mean, call("_reshape_to", {product}, {{"shape", shape}})});
}

OpDef multivariate_normal() {
  return general<VectorAttrs>(
      {.name = "_npi_multivariate_normal",
       .doc = "Samples of the normal distribution of vectors, of shape size + (..., k), for means (..., k) and "
              "covariances (..., k, k), which must be positive definite and have no gradient. Raises ValueError for "
              "shapes that do not fit.",
       .inputs = {"mean", "cov"},
       .result_dtype = [](std::span<const DType> inputs, const VectorAttrs&,
                          size_t) { return promote(inputs[0], computing_dtype(inputs[1]), "multivariate_normal"); },
       .compose = [](std::span<const NDArray> in, const VectorAttrs& a) -> std::vector<NDArray> {
         return {draw_vectors(in[0], without_history(in[1]), a)};
       },
       .is_random = true,
       .samples = {{{uniform({3, 2}), SampleArray{{2, 2}, DType::kFloat32, 0, 0, {2, 0.5, 0.5, 1}}},
                    make_attrs(VectorAttrs{Shape{2}})}}});
}

}  // namespace

Operators np_sampler_operators() {
  return {
      sampler<UniformAttrs>("_npi_uniform", "Samples of the uniform distribution on [low, high).", draw_uniform),
      sampler<NormalAttrs>("_npi_normal", "Samples of the normal distribution. Raises ValueError for a negative scale.",
                           draw_normal),
      sampler<UniformAttrs>("_npi_uniform_n", "Samples of the uniform distribution, a batch of them.", draw_uniform,
                            Size::kOfBatch),
      sampler<NormalAttrs>("_npi_normal_n", "Samples of the normal distribution, a batch of them.", draw_normal,
                           Size::kOfBatch),
      sampler<ScaleAttrs>("_npi_exponential", "Samples of the exponential distribution with mean scale.",
                          draw_exponential),
      sampler<NumpyGammaAttrs>("_npi_gamma", "Samples of the gamma distribution.", "gamma"),
      sampler<LocationAttrs>("_npi_gumbel", "Samples of the Gumbel distribution.", "gumbel"),
      sampler<LocationAttrs>("_npi_logistic", "Samples of the logistic distribution.", "logistic"),
      sampler<ScaleAttrs>("_npi_rayleigh", "Samples of the Rayleigh distribution.", "rayleigh"),
      sampler<ShapeAttrs>("_npi_weibull", "Samples of the Weibull distribution with shape a and scale 1.", "weibull"),
      sampler<ShapeAttrs>("_npi_pareto", "Samples of the Pareto II (Lomax) distribution with shape a.", "pareto"),
      sampler<ShapeAttrs>("_npi_powerd", "Samples on [0, 1] with density a * x**(a - 1).", "power"),
      sampler<NormalAttrs>("_np_laplace", "Samples of the Laplace distribution.", "laplace"),
      poisson(),
      bernoulli(),
      multivariate_normal(),
  };
}

}  // namespace headrace
