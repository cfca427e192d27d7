// Arrays whose elements follow from their places: eye, indices, arange_like, window functions.

#include <cmath>
#include <numbers>

#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "op/spelling.h"
#include "ops/creation/creation.h"
#include "ops/creation/place.h"

namespace headrace {
namespace {

// --- eye -------------------------------------------------------------------------------------------------------------

struct NdEyeAttrs {
  int64_t N = 0, M = 0, k = 0;
  std::optional<std::string> ctx = {};
  std::optional<DType> dtype = {};
  int64_t columns() const noexcept { return M > 0 ? M : N; }
  static constexpr auto kFields =
      fields(field(&NdEyeAttrs::N, "N", "Rows.").required(), field(&NdEyeAttrs::M, "M", "Columns; as rows when 0."),
             field(&NdEyeAttrs::k, "k", "Which diagonal: above the main one when positive."),
             field(&NdEyeAttrs::ctx, "ctx", kCtxDoc), field(&NdEyeAttrs::dtype, "dtype", kDtypeDoc));
};

struct NpEyeAttrs {
  int64_t N = 0;
  std::optional<int64_t> M = {};
  int64_t k = 0;
  std::optional<DType> dtype = {};
  std::optional<std::string> ctx = {};
  int64_t columns() const noexcept { return M.value_or(N); }
  static constexpr auto kFields =
      fields(field(&NpEyeAttrs::N, "N", "Rows.").required(), field(&NpEyeAttrs::M, "M", "Columns; as rows when None."),
             field(&NpEyeAttrs::k, "k", "Which diagonal: above the main one when positive."),
             field(&NpEyeAttrs::dtype, "dtype", kDtypeDoc), field(&NpEyeAttrs::ctx, "ctx", kCtxDoc));
};

struct IdentityAttrs {
  int64_t N = 0;
  std::optional<DType> dtype = {};
  std::optional<std::string> ctx = {};
  static constexpr int64_t k = 0;
  int64_t columns() const noexcept { return N; }
  static constexpr auto kFields =
      fields(field(&IdentityAttrs::N, "n", "Rows and columns.").required(),
             field(&IdentityAttrs::dtype, "dtype", kDtypeDoc), field(&IdentityAttrs::ctx, "ctx", kCtxDoc));
};

template <class A>
OpDef eye(std::string name, std::vector<std::string> python) {
  return general<A>({.name = std::move(name),
                     .python = std::move(python),
                     .doc = "A matrix of zeros with ones on one diagonal.",
                     .inputs = {},
                     .infer =
                         [](Infer& infer, const A& a) {
                           infer_made(infer, {a.N, a.columns()}, a.dtype, a.ctx);
                         },
                     .kernel = [](KernelContext& c, const A& a) { fill_eye(c, c.output(0), a.k); },
                     .zero_gradient = true,
                     .samples = {Sample({}, make_attrs(A{.N = 3}))}});
}

// What symbols hold for np.identity.
struct IdentityShapeAttrs {
  Shape shape = {};
  std::optional<DType> dtype = {};
  std::optional<std::string> ctx = {};
  static constexpr auto kFields =
      fields(field(&IdentityShapeAttrs::shape, "shape", "Rows and columns.").required(),
             field(&IdentityShapeAttrs::dtype, "dtype", kDtypeDoc), field(&IdentityShapeAttrs::ctx, "ctx", kCtxDoc));
};

OpDef identity_of_shape() {
  using A = IdentityShapeAttrs;
  return general<A>({.name = "_npi_identity",
                     .doc = "A matrix of zeros with ones on the main diagonal. Raises ValueError unless the shape has "
                            "two extents.",
                     .inputs = {},
                     .infer =
                         [](Infer& infer, const A& a) {
                           infer.require(a.shape.size() == 2, ErrorKind::kValue, "expected two extents, got {}",
                                         to_string(a.shape));
                           infer_made(infer, a.shape, a.dtype, a.ctx);
                         },
                     .kernel = [](KernelContext& c, const A&) { fill_eye(c, c.output(0), 0); },
                     .zero_gradient = true,
                     .samples = {Sample({}, make_attrs(A{.shape = {3, 3}}))}});
}

OpDef numpy_identity() {
  OpDef op = eye<IdentityAttrs>("_np_identity", {"np.identity"});
  op.spelling = [](const Attrs& attrs, size_t) {
    const auto& a = attrs.as<IdentityAttrs>();
    return placed({"_npi_identity", {{"shape", Shape{a.N, a.N}}}}, a.dtype, a.ctx);
  };
  return op;
}

// --- indices ---------------------------------------------------------------------------------------------------------

struct IndicesAttrs {
  Shape dimensions = {};
  DType dtype = DType::kInt32;
  std::optional<std::string> ctx = {};
  static constexpr auto kFields =
      fields(field(&IndicesAttrs::dimensions, "dimensions", "Shape of the grid.").required(),
             field(&IndicesAttrs::dtype, "dtype", "What the array holds."), field(&IndicesAttrs::ctx, "ctx", kCtxDoc));
};

OpDef indices() {
  using A = IndicesAttrs;
  return general<A>({.name = "_npi_indices",
                     .python = {"np.indices"},
                     .doc = "The indices of a grid: result[d] holds at every place its position along axis d.",
                     .inputs = {},
                     .infer =
                         [](Infer& infer, const A& a) {
                           Shape shape{static_cast<int64_t>(a.dimensions.size())};
                           for (int64_t extent : a.dimensions) shape.push_back(extent);
                           infer_made(infer, shape, a.dtype, a.ctx);
                         },
                     .kernel = [](KernelContext& c, const A&) { fill_indices(c, c.output(0)); },
                     .zero_gradient = true,
                     .samples = {Sample({}, make_attrs(A{.dimensions = {2, 3}}))}});
}

// --- arange_like -----------------------------------------------------------------------------------------------------

struct ArangeLikeAttrs {
  double start = 0, step = 1;
  int64_t repeat = 1;
  std::optional<std::string> ctx = {};
  std::optional<int64_t> axis = {};
  static constexpr auto kFields = fields(
      field(&ArangeLikeAttrs::start, "start", "First value."),
      field(&ArangeLikeAttrs::step, "step", "Distance of the values."),
      field(&ArangeLikeAttrs::repeat, "repeat", "How often each value stands."),
      field(&ArangeLikeAttrs::ctx, "ctx", "Of no effect: the result lies where the input does."),
      field(&ArangeLikeAttrs::axis, "axis", "The result is as long as this axis; as large as the input when None."));
};

OpDef arange_like() {
  using A = ArangeLikeAttrs;
  return general<A>(
      {.name = "_contrib_arange_like",
       .aliases = {"_npx_arange_like"},
       .python = {"nd.contrib.arange_like", "npx.arange_like"},
       .doc = "start, start + step, ... as many values as the input has elements, in its shape; or a vector as long as "
              "one axis. Raises ValueError for an axis that the input does not have.",
       .infer =
           [](Infer& infer, const A& a) {
             infer.require(a.repeat > 0, ErrorKind::kValue, "repeat must be at least 1, got {}", a.repeat);
             if (!a.axis) return infer.output(infer.shape(0), infer.dtype(0));
             int64_t ndim = static_cast<int64_t>(infer.shape(0).size()), axis = *a.axis < 0 ? *a.axis + ndim : *a.axis;
             infer.require(axis >= 0 && axis < ndim, ErrorKind::kValue, "axis {} is out of range for {} dimensions",
                           *a.axis, ndim);
             infer.output({infer.shape(0)[static_cast<size_t>(axis)]}, infer.dtype(0));
           },
       .kernel =
           [](KernelContext& c, const A& a) {
             fill_progression(c, c.output(0), {a.start, a.step, a.repeat});
           },
       .zero_gradient = true,
       .saves_inputs = kNothing,
       .strided_inputs = true,
       .samples = {uniform({2, 3}), Sample({uniform({2, 3})}, make_attrs(A{.start = 1, .step = 2, .axis = -1}))}});
}

// --- windows ---------------------------------------------------------------------------------------------------------

struct WindowAttrs {
  int64_t M = 0;
  std::optional<DType> dtype = {};
  std::optional<std::string> ctx = {};
  static constexpr auto kFields =
      fields(field(&WindowAttrs::M, "M", "How many values; empty when 0 or less.").required(),
             field(&WindowAttrs::dtype, "dtype", kDtypeDoc), field(&WindowAttrs::ctx, "ctx", kCtxDoc));
};

// a0 + a1 cos(t) + a2 cos(2 t), t from -pi to pi.
OpDef window(const std::string& word, const char* doc, double a0, double a1, double a2) {
  using A = WindowAttrs;
  return general<A>(
      {.name = "_npi_" + word,
       .python = {"np." + word},
       .doc = doc,
       .inputs = {},
       .infer = [](Infer& infer, const A& a) { infer_made(infer, {std::max<int64_t>(a.M, 0)}, a.dtype, a.ctx); },
       .kernel =
           [=](KernelContext& c, const A& a) {
             fill_doubles(c, c.output(0), [&](int64_t first, int64_t count, double* values) {
               for (int64_t i = 0; i < count; ++i) {
                 double at = static_cast<double>(1 - a.M + 2 * (first + i));
                 double t = a.M > 1 ? std::numbers::pi * at / static_cast<double>(a.M - 1) : 0;
                 values[i] = a0 + a1 * std::cos(t) + a2 * std::cos(2 * t);
               }
             });
           },
       .zero_gradient = true,
       .samples = {Sample({}, make_attrs(A{.M = 5}))}});
}

}  // namespace

Operators positional_operators() {
  Operators operators;
  operators.push_back(eye<NdEyeAttrs>("_eye", {"nd.eye"}));
  operators.push_back(eye<NpEyeAttrs>("_npi_eye", {"np.eye"}));
  operators.push_back(identity_of_shape());
  operators.push_back(numpy_identity());
  operators.push_back(indices());
  operators.push_back(arange_like());
  operators.push_back(window("hanning", "Hann window: a raised cosine.", 0.5, 0.5, 0));
  operators.push_back(window("hamming", "Hamming window: a raised cosine on a pedestal.", 0.54, 0.46, 0));
  operators.push_back(
      window("blackman", "Blackman window: a raised cosine with its double frequency.", 0.42, 0.5, 0.08));
  return operators;
}

}  // namespace headrace
