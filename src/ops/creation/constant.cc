// Arrays of one value: zeros, ones, full, empty and their _like forms.

#include "op/formula/transfer.h"
#include "op/kernel.h"
#include "op/pointwise.h"
#include "op/rule.h"
#include "op/spelling.h"
#include "ops/creation/creation.h"
#include "ops/creation/place.h"

namespace headrace {
namespace {

struct NdShapeAttrs {
  Shape shape = {};
  std::optional<std::string> ctx = {};
  std::optional<DType> dtype = {};
  static constexpr auto kFields =
      fields(field(&NdShapeAttrs::shape, "shape", "Shape of the result.").required(),
             field(&NdShapeAttrs::ctx, "ctx", kCtxDoc), field(&NdShapeAttrs::dtype, "dtype", kDtypeDoc));
};

struct NpShapeAttrs {
  Shape shape = {};
  std::optional<DType> dtype = {};
  std::string order = "C";
  std::optional<std::string> ctx = {};
  static constexpr auto kFields =
      fields(field(&NpShapeAttrs::shape, "shape", "Shape of the result.").required(),
             field(&NpShapeAttrs::dtype, "dtype", kDtypeDoc),
             field(&NpShapeAttrs::order, "order", "Row-major.").one_of("C"), field(&NpShapeAttrs::ctx, "ctx", kCtxDoc));
};

struct FullAttrs {
  Shape shape = {};
  Number value = int64_t{0};
  std::optional<std::string> ctx = {};
  std::optional<DType> dtype = {};
  static constexpr auto kFields =
      fields(field(&FullAttrs::shape, "shape", "Shape of the result.").required(),
             field(&FullAttrs::value, "value", "What every element is.").required(),
             field(&FullAttrs::ctx, "ctx", kCtxDoc), field(&FullAttrs::dtype, "dtype", kDtypeDoc));
};

struct NdFullAttrs {
  Shape shape = {};
  Number value = int64_t{0};
  std::optional<std::string> ctx = {};
  std::optional<DType> dtype = {};
  static constexpr auto kFields =
      fields(field(&NdFullAttrs::shape, "shape", "Shape of the result.").required(),
             field(&NdFullAttrs::value, "val", "What every element is.").required(),
             field(&NdFullAttrs::ctx, "ctx", kCtxDoc), field(&NdFullAttrs::dtype, "dtype", kDtypeDoc));
};

struct NpFullAttrs {
  Shape shape = {};
  Number value = int64_t{0};
  std::optional<DType> dtype = {};
  std::string order = "C";
  std::optional<std::string> ctx = {};
  static constexpr auto kFields =
      fields(field(&NpFullAttrs::shape, "shape", "Shape of the result.").required(),
             field(&NpFullAttrs::value, "fill_value", "What every element is.").required(),
             field(&NpFullAttrs::dtype, "dtype", kDtypeDoc),
             field(&NpFullAttrs::order, "order", "Row-major.").one_of("C"), field(&NpFullAttrs::ctx, "ctx", kCtxDoc));
};

template <class A>
OpDef filled(std::string name, std::vector<std::string> aliases, std::vector<std::string> python, std::string doc,
             std::function<Number(const A&)> value, A sample) {
  return general<A>({.name = std::move(name),
                     .aliases = std::move(aliases),
                     .python = std::move(python),
                     .doc = std::move(doc) + " Raises ValueError for a negative extent.",
                     .inputs = {},
                     .infer = [](Infer& infer, const A& a) { infer_made(infer, a.shape, a.dtype, a.ctx); },
                     .kernel = [value](KernelContext& c, const A& a) { fill(c, c.output(0), value(a)); },
                     .zero_gradient = true,
                     .samples = {Sample({}, make_attrs(std::move(sample)))}});
}

template <class A>
OpDef constant(std::string name, std::vector<std::string> aliases, std::vector<std::string> python, double value,
               const char* doc) {
  return filled<A>(
      std::move(name), std::move(aliases), std::move(python), doc, [value](const A&) { return value; },
      A{.shape = {2, 3}});
}

template <class A>
OpDef full_of(std::string name, std::vector<std::string> python) {
  return filled<A>(
      std::move(name), {}, std::move(python), "An array of one value.", [](const A& a) { return a.value; },
      A{.shape = {2, 3}, .value = 1.5});
}

template <class A>
OpDef empty_of(std::string name, std::vector<std::string> python) {
  OpDef op =
      constant<A>(std::move(name), {}, std::move(python), 0, "An array whose elements are whatever the memory holds.");
  op.kernel = [](KernelContext&, const Attrs&) {};
  op.samples = {};
  op.unsampled = "the elements may be anything";
  return op;
}

struct LikeAttrs {
  std::optional<DType> dtype = {};
  std::string order = "C";
  static constexpr auto kFields =
      fields(field(&LikeAttrs::dtype, "dtype", "What the result holds; as the input when None."),
             field(&LikeAttrs::order, "order", "Row-major.").one_of("C"));
};

struct FullLikeAttrs {
  double fill_value = 0;
  std::optional<DType> dtype = {};
  std::string order = "C";
  static constexpr auto kFields =
      fields(field(&FullLikeAttrs::fill_value, "fill_value", "What every element is.").required(),
             field(&FullLikeAttrs::dtype, "dtype", "What the result holds; as the input when None."),
             field(&FullLikeAttrs::order, "order", "Row-major.").one_of("C"));
};

template <class A>
PointwiseTypes like_dtypes(const char*, std::span<const DType> inputs, const Attrs& attrs) {
  DType dtype = attrs.as<A>().dtype.value_or(inputs[0]);
  return {compute_type_of(dtype), dtype};
}

// Symbols hold a call of `op`, without the order, which MXNet does not write.
OpDef spelled_as_made(OpDef op, const std::string& made_by) {
  op.spelling = [made_by](const Attrs& attrs, size_t) {
    const auto& a = attrs.as<NpShapeAttrs>();
    return placed({made_by, {{"shape", a.shape}}}, a.dtype, a.ctx);
  };
  return op;
}

Spelling spelled_full(const Attrs& attrs, size_t) {
  const auto& a = attrs.as<NpFullAttrs>();
  const double value = std::visit([](auto number) { return static_cast<double>(number); }, a.value);
  return placed({"_full", {{"shape", a.shape}, {"value", value}}}, a.dtype, a.ctx);
}

Spelling full_like(double value, const std::optional<DType>& dtype) {
  return placed({"_npi_full_like", {{"fill_value", value}}}, dtype);
}

PointwiseSpec like(std::string name, std::vector<std::string> python, const char* doc, FormulaFn formula) {
  return {.op = {.name = std::move(name),
                 .python = std::move(python),
                 .doc = doc,
                 .np_inputs = {"a"},
                 .zero_gradient = true,
                 .samples = {uniform({2, 3}), uniform({0, 3})}},
          .formula = std::move(formula)};
}

void add_like(Operators& operators) {
  auto add_constant = [&](const std::string& word, double value, const char* doc) {
    FormulaFn formula = [value](Expr) { return Expr(value); };
    std::string name = word + "_like";
    operators.push_back(pointwise(like(name, {"nd." + name, "NDArray." + name}, doc, formula)));
    PointwiseSpec np = like("_np_" + name, {"np." + name}, doc, formula);
    np.dtypes = like_dtypes<LikeAttrs>;
    operators.push_back(pointwise<LikeAttrs>(std::move(np)));
    operators.back().spelling = [value](const Attrs& a, size_t) { return full_like(value, a.as<LikeAttrs>().dtype); };
  };
  add_constant("zeros", 0, "Zeros in the shape of the input.");
  add_constant("ones", 1, "Ones in the shape of the input.");
  PointwiseSpec empty = like("_np_empty_like", {"np.empty_like"},
                             "An array in the shape of the input; its elements are 0.", [](Expr) { return Expr(0.0); });
  empty.op.np_inputs = {"prototype"};
  empty.dtypes = like_dtypes<LikeAttrs>;
  operators.push_back(pointwise<LikeAttrs>(std::move(empty)));
  operators.back().spelling = [](const Attrs& a, size_t) { return full_like(0, a.as<LikeAttrs>().dtype); };
  PointwiseSpec full = like("_npi_full_like", {"np.full_like"}, "One value in the shape of the input.",
                            [](Expr, Expr value) { return value; });
  full.dtypes = like_dtypes<FullLikeAttrs>;
  full.op.samples = {Sample({uniform({2, 3})}, make_attrs(FullLikeAttrs{.fill_value = 1.5}))};
  operators.push_back(pointwise<FullLikeAttrs>(std::move(full)));
  operators.back().spelling = [](const Attrs& attrs, size_t) {
    const auto& a = attrs.as<FullLikeAttrs>();
    return full_like(a.fill_value, a.dtype);
  };
}

}  // namespace

Operators constant_operators() {
  Operators operators;
  operators.push_back(constant<NdShapeAttrs>("_zeros", {"_zeros_without_dtype"}, {"nd.zeros"}, 0, "Zeros."));
  operators.push_back(constant<NdShapeAttrs>("_ones", {}, {"nd.ones"}, 1, "Ones."));
  operators.push_back(
      spelled_as_made(constant<NpShapeAttrs>("_npi_zeros", {}, {"np.zeros"}, 0, "Zeros."), "_npi_zeros"));
  operators.push_back(spelled_as_made(constant<NpShapeAttrs>("_npi_ones", {}, {"np.ones"}, 1, "Ones."), "_npi_ones"));
  operators.push_back(full_of<FullAttrs>("_full", {}));
  operators.push_back(full_of<NdFullAttrs>("_nd_full", {"nd.full"}));
  operators.push_back(full_of<NpFullAttrs>("_npi_full", {"np.full"}));
  operators.back().spelling = spelled_full;
  operators.push_back(empty_of<NdShapeAttrs>("_nd_empty", {"nd.empty"}));
  operators.push_back(spelled_as_made(empty_of<NpShapeAttrs>("_np_empty", {"np.empty"}), "_npi_zeros"));
  add_like(operators);
  return operators;
}

}  // namespace headrace
