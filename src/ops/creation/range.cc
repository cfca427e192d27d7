// Sequences of numbers: arange, linspace, logspace, and what fills a matrix by position.

#include <cmath>

#include "op/kernel.h"
#include "op/rule.h"
#include "op/spelling.h"
#include "ops/creation/creation.h"
#include "ops/creation/place.h"

namespace headrace {
namespace {

struct NdArangeAttrs {
  Number start = int64_t{0};
  std::optional<Number> stop = {};
  Number step = int64_t{1};
  int64_t repeat = 1;
  std::optional<bool> infer_range = {};
  std::optional<std::string> ctx = {};
  std::optional<DType> dtype = {};
  static constexpr auto kFields =
      fields(field(&NdArangeAttrs::start, "start", "First value; the end when `stop` is None.").required(),
             field(&NdArangeAttrs::stop, "stop", "End, not included."),
             field(&NdArangeAttrs::step, "step", "Distance of the values."),
             field(&NdArangeAttrs::repeat, "repeat", "How often each value stands."),
             field(&NdArangeAttrs::infer_range, "infer_range",
                   "In graphs, without `stop`: the end follows from the shape that is needed."),
             field(&NdArangeAttrs::ctx, "ctx", kCtxDoc), field(&NdArangeAttrs::dtype, "dtype", kDtypeDoc));
};

struct NpArangeAttrs {
  Number start = int64_t{0};
  std::optional<Number> stop = {};
  Number step = int64_t{1};
  std::optional<DType> dtype = {};
  std::optional<std::string> ctx = {};
  int64_t repeat = 1;
  std::optional<bool> infer_range = {};
  static constexpr auto kFields =
      fields(field(&NpArangeAttrs::start, "start", "First value; the end when `stop` is None.").required(),
             field(&NpArangeAttrs::stop, "stop", "End, not included."),
             field(&NpArangeAttrs::step, "step", "Distance of the values."),
             field(&NpArangeAttrs::dtype, "dtype", kDtypeDoc), field(&NpArangeAttrs::ctx, "ctx", kCtxDoc),
             field(&NpArangeAttrs::repeat, "repeat", "How often each value stands.").of_files(),
             field(&NpArangeAttrs::infer_range, "infer_range",
                   "In graphs, without `stop`: the end follows from the shape that is needed.")
                 .of_files());
};

// Where a range begins and how far apart its values are. In integers, where all that was given are such.
template <class T>
struct Range {
  T start, stop, step;
};

template <class A>
std::optional<Range<int64_t>> integer_range(const A& a) {
  const Number start = a.stop ? a.start : Number(int64_t{0}), stop = a.stop.value_or(a.start);
  for (const Number& number : {start, stop, a.step})
    if (!std::holds_alternative<int64_t>(number)) return std::nullopt;
  return Range<int64_t>{std::get<int64_t>(start), std::get<int64_t>(stop), std::get<int64_t>(a.step)};
}

template <class A>
Range<double> real_range(const A& a) {
  return {a.stop ? as_double(a.start) : 0, as_double(a.stop.value_or(a.start)), as_double(a.step)};
}

// Integers are counted in 128 bits, where no difference overflows.
template <class A>
double length_of(const A& a) {
  if (const auto range = integer_range(a)) {
    const __int128 span = static_cast<__int128>(range->stop) - range->start, step = range->step;
    return static_cast<double>((span + step - (step > 0 ? 1 : -1)) / step);
  }
  const Range<double> range = real_range(a);
  return std::ceil((range.stop - range.start) / range.step);
}

template <class A>
int64_t count_values(const Infer& infer, const A& a) {
  infer.require(as_double(a.step) != 0, ErrorKind::kValue, "the step is 0; give another one");
  infer.require(a.repeat > 0, ErrorKind::kValue, "repeat must be at least 1, got {}", a.repeat);
  const double count = length_of(a);
  infer.require(!std::isnan(count), ErrorKind::kValue, "start, stop and step must be numbers, not nan");
  infer.require(count < 0x1p59, ErrorKind::kMemory, "a range of {} values is too large", count);
  return count > 0 ? multiply_extents(static_cast<int64_t>(count), a.repeat, infer.name()) : 0;
}

// Of values of an integer dtype: where they begin and their distance are such numbers, too. None: they are too large.
template <class A>
std::optional<Range<int64_t>> whole_range(const A& a) {
  if (const auto integers = integer_range(a)) return integers;
  const Range<double> range = real_range(a);
  if (!(std::fabs(range.start) < 0x1p63 && std::fabs(range.step) < 0x1p63)) return std::nullopt;
  return Range<int64_t>{static_cast<int64_t>(range.start), 0, static_cast<int64_t>(range.step)};
}

template <class A>
void fill_range(KernelContext& c, const Tensor& output, const A& a) {
  const auto integers = is_floating(output.dtype) ? std::nullopt : whole_range(a);
  if (integers) return fill_progression(c, output, {integers->start, integers->step, a.repeat});
  const Range<double> range = real_range(a);
  fill_progression(c, output, {range.start, range.step, a.repeat});
}

template <class A>
OpDef arange(std::string name, std::vector<std::string> python) {
  return general<A>(
      {.name = std::move(name),
       .python = std::move(python),
       .doc =
           "Values from `start` up to but without `stop`, `step` apart: arange(3) is [0, 1, 2]. Raises ValueError for "
           "a step of 0.",
       .inputs = {},
       .infer = [](Infer& infer, const A& a) { infer_made(infer, {count_values(infer, a)}, a.dtype, a.ctx); },
       .kernel = [](KernelContext& c, const A& a) { fill_range(c, c.output(0), a); },
       .zero_gradient = true,
       .samples = {Sample({}, make_attrs(A{.start = int64_t{5}})),
                   Sample({}, make_attrs(A{.start = 5.0, .stop = 1.0, .step = -0.5}))}});
}

OpDef np_arange() {
  OpDef op = arange<NpArangeAttrs>("_npi_arange", {"np.arange"});
  op.spelling = [](const Attrs& attrs, size_t) {
    const auto& a = attrs.as<NpArangeAttrs>();
    const Range<double> range = real_range(a);
    return placed({"_npi_arange", {{"start", range.start}, {"stop", range.stop}, {"step", range.step}}}, a.dtype,
                  a.ctx);
  };
  return op;
}

struct NdLinspaceAttrs {
  double start = 0, stop = 0;
  int64_t num = 50;
  bool endpoint = true;
  std::optional<std::string> ctx = {};
  std::optional<DType> dtype = {};
  static constexpr auto kFields =
      fields(field(&NdLinspaceAttrs::start, "start", "First value.").required(),
             field(&NdLinspaceAttrs::stop, "stop", "Last value.").required(),
             field(&NdLinspaceAttrs::num, "num", "How many values.").required(),
             field(&NdLinspaceAttrs::endpoint, "endpoint", "Whether `stop` is one of the values."),
             field(&NdLinspaceAttrs::ctx, "ctx", kCtxDoc), field(&NdLinspaceAttrs::dtype, "dtype", kDtypeDoc));
};

struct NpLinspaceAttrs {
  double start = 0, stop = 0;
  int64_t num = 50;
  bool endpoint = true;
  std::optional<DType> dtype = {};
  int64_t axis = 0;
  std::optional<std::string> ctx = {};
  static constexpr auto kFields =
      fields(field(&NpLinspaceAttrs::start, "start", "First value.").required(),
             field(&NpLinspaceAttrs::stop, "stop", "Last value.").required(),
             field(&NpLinspaceAttrs::num, "num", "How many values."),
             field(&NpLinspaceAttrs::endpoint, "endpoint", "Whether `stop` is one of the values."),
             field(&NpLinspaceAttrs::dtype, "dtype", kDtypeDoc),
             field(&NpLinspaceAttrs::axis, "axis", "Where the values lie: 0 or -1, as start and stop are numbers."),
             field(&NpLinspaceAttrs::ctx, "ctx", kCtxDoc));
};

struct LogspaceAttrs {
  double start = 0, stop = 0;
  int64_t num = 50;
  bool endpoint = true;
  double base = 10;
  std::optional<DType> dtype = {};
  int64_t axis = 0;
  std::optional<std::string> ctx = {};
  static constexpr auto kFields = fields(
      field(&LogspaceAttrs::start, "start", "Exponent of the first value.").required(),
      field(&LogspaceAttrs::stop, "stop", "Exponent of the last value.").required(),
      field(&LogspaceAttrs::num, "num", "How many values."),
      field(&LogspaceAttrs::endpoint, "endpoint", "Whether `stop` is one of the exponents."),
      field(&LogspaceAttrs::base, "base", "Base of the powers."), field(&LogspaceAttrs::dtype, "dtype", kDtypeDoc),
      field(&LogspaceAttrs::axis, "axis", "Where the values lie: 0 or -1, as start and stop are numbers."),
      field(&LogspaceAttrs::ctx, "ctx", kCtxDoc));
};

template <class A>
double step_of(const A& a) {
  int64_t gaps = a.endpoint ? a.num - 1 : a.num;
  return gaps > 0 ? (a.stop - a.start) / static_cast<double>(gaps) : kNan;
}

// Evenly spaced numbers, the last one exactly `stop` where it is included.
template <class A>
void spaced(const A& a, int64_t first, int64_t count, double* values) {
  double step = step_of(a);
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = first + i;
    values[i] = at == 0 ? a.start : a.endpoint && at == a.num - 1 ? a.stop : a.start + step * static_cast<double>(at);
  }
}

template <class A>
void fill_spaced(KernelContext& c, const Tensor& output, const A& a) {
  if (output.size == 0) return;
  fill_progression(c, output, {a.start, step_of(a), 1});
  const Shape one{1};
  const Strides packed{1};
  const auto set = [&](int64_t i, double value) {
    void* const place = output.as<char>() + i * static_cast<int64_t>(item_size(output.dtype));
    fill(c, {place, output.dtype, one, packed, 1}, value);
  };
  if (a.endpoint) set(a.num - 1, a.stop);
  set(0, a.start);
}

template <class A>
void infer_spaced(Infer& infer, const A& a) {
  infer.require(a.num >= 0, ErrorKind::kValue, "num must not be negative, got {}", a.num);
  if constexpr (requires { a.axis; })
    infer.require(a.axis == 0 || a.axis == -1, ErrorKind::kValue, "axis must be 0 or -1, got {}", a.axis);
  infer_made(infer, {a.num}, a.dtype, a.ctx);
}

// Evenly spaced numbers without what MXNet leaves to its front end.
template <class A>
Spelling spelled_spaced(const char* op, const A& a) {
  return placed({op, {{"start", a.start}, {"stop", a.stop}, {"num", a.num}, {"endpoint", a.endpoint}}}, a.dtype, a.ctx);
}

constexpr char kLinspaceDoc[] =
    "`num` evenly spaced values from `start` to `stop`. Raises ValueError for a negative `num`.";

OpDef nd_linspace() {
  using A = NdLinspaceAttrs;
  return general<A>({.name = "_linspace",
                     .python = {"nd.linspace"},
                     .doc = kLinspaceDoc,
                     .inputs = {},
                     .infer = infer_spaced<A>,
                     .kernel = [](KernelContext& c, const A& a) { fill_spaced(c, c.output(0), a); },
                     .zero_gradient = true,
                     .samples = {Sample({}, make_attrs(A{.start = 1, .stop = 2, .num = 5}))}});
}

OpDef np_linspace() {
  using A = NpLinspaceAttrs;
  return general<A>({.name = "_npi_linspace",
                     .doc = kLinspaceDoc,
                     .inputs = {},
                     .infer = infer_spaced<A>,
                     .kernel = [](KernelContext& c, const A& a) { fill_spaced(c, c.output(0), a); },
                     .spelling = [](const A& a, size_t) { return spelled_spaced("_linspace", a); },
                     .zero_gradient = true,
                     .samples = {Sample({}, make_attrs(A{.start = 1, .stop = 2, .num = 5})),
                                 Sample({}, make_attrs(A{.start = 1, .stop = 2, .num = 5, .endpoint = false}))}});
}

OpDef np_logspace() {
  using A = LogspaceAttrs;
  return general<A>({.name = "_npi_logspace",
                     .python = {"np.logspace"},
                     .doc = "`num` values whose logarithms to `base` are evenly spaced from `start` to `stop`. Raises "
                            "ValueError for a negative `num`.",
                     .inputs = {},
                     .infer = infer_spaced<A>,
                     .kernel =
                         [](KernelContext& c, const A& a) {
                           fill_doubles(c, c.output(0), [&](int64_t first, int64_t count, double* values) {
                             spaced(a, first, count, values);
                             for (int64_t i = 0; i < count; ++i) values[i] = std::pow(a.base, values[i]);
                           });
                         },
                     .spelling =
                         [](const A& a, size_t) {
                           Spelling call = spelled_spaced("_npi_logspace", a);
                           call.attrs.emplace_back("base", a.base);
                           return call;
                         },
                     .zero_gradient = true,
                     .samples = {Sample({}, make_attrs(A{.start = 0, .stop = 2, .num = 5}))}});
}

}  // namespace

Operators range_operators() {
  Operators operators;
  operators.push_back(arange<NdArangeAttrs>("_arange", {"nd.arange"}));
  operators.push_back(np_arange());
  operators.push_back(nd_linspace());
  operators.push_back(np_linspace());
  operators.push_back(np_logspace());
  return operators;
}

}  // namespace headrace
