// Padding: every element of the result is a constant or a copy of an element of the input.
#include "ops/shape/pad.h"

#include "base/check.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/invoke_by_name.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "op/spelling.h"
#include "ops/shape/geometry.h"

namespace headrace {
namespace {

struct PadAttrs {
  std::string mode = "constant";
  Shape pad_width;
  double constant_value = 0;
  static constexpr auto kFields = fields(
      field(&PadAttrs::mode, "mode", "What the border holds.").required().one_of("constant|edge|reflect"),
      field(&PadAttrs::pad_width, "pad_width", "Elements before and after each axis, two numbers per axis.").required(),
      field(&PadAttrs::constant_value, "constant_value", "The border's value with mode='constant'."));
};

struct NpPadAttrs {
  Shape pad_width;
  std::string mode = "constant";
  double constant_values = 0;
  std::string reflect_type = "even";
  static constexpr auto kFields =
      fields(field(&NpPadAttrs::pad_width, "pad_width", "Elements before and after each axis, two numbers per axis.")
                 .required(),
             field(&NpPadAttrs::mode, "mode", "What the border holds.")
                 .one_of("constant|edge|reflect|symmetric|wrap|maximum|minimum|mean"),
             field(&NpPadAttrs::constant_values, "constant_values", "The border's value with mode='constant'."),
             field(&NpPadAttrs::reflect_type, "reflect_type", "How reflections look; only 'even'.").one_of("even"));
};

struct PadBackAttrs {
  std::string mode = "edge";
  Shape pad_width;
  static constexpr auto kFields =
      fields(field(&PadBackAttrs::mode, "mode", "What the border held.").one_of("edge|reflect|symmetric|wrap"),
             field(&PadBackAttrs::pad_width, "pad_width", "Elements around each axis."));
};

Border border_of(const std::string& mode) {
  if (mode == "edge") return Border::kEdge;
  if (mode == "reflect") return Border::kReflect;
  if (mode == "symmetric") return Border::kSymmetric;
  return mode == "wrap" ? Border::kWrap : Border::kConstant;
}

void check_width(const char* name, const Shape& in, const Shape& width) {
  check(width.size() == 2 * in.size(), ErrorKind::kValue, "{}: pad_width needs {} numbers for shape {}, got {}", name,
        2 * in.size(), to_string(in), width.size());
  for (int64_t one : width)
    check(one >= 0 && one <= kMostElements, ErrorKind::kValue, "{}: entries of pad_width must be from 0 to {}, got {}",
          name, kMostElements, to_string(width));
}

Shape padded_shape(const char* name, const Shape& in, const Shape& width, Border border) {
  check_width(name, in, width);
  Shape shape = in;
  for (size_t i = 0; i < in.size(); ++i) {
    int64_t around = width[2 * i] + width[2 * i + 1];
    check(in[i] > 0 || around == 0 || border == Border::kConstant, ErrorKind::kValue,
          "{}: axis {} of shape {} is empty; only constants can pad it", name, i, to_string(in));
    shape[i] += around;
  }
  return shape;
}

void pad_back(Gradient& g, const Shape& width, const std::string& mode) {
  const Shape& shape = g.input(0).shape();
  if (border_of(mode) != Border::kConstant) {
    g.set(0, call("_pad_back", {g.head()}, {{"mode", mode}, {"pad_width", width}}));
    return;
  }
  OptionalInts begin, end;
  for (size_t i = 0; i < shape.size(); ++i) {
    begin.push_back(width[2 * i]);
    end.push_back(width[2 * i] + shape[i]);
  }
  g.set(0, call("slice", {g.head()}, {{"begin", begin}, {"end", end}}));
}

OpDef nd_pad() {
  return general<PadAttrs>({
      .name = "Pad",
      .aliases = {"pad"},
      .python = {"nd.pad", "nd.Pad", "NDArray.pad"},
      .doc = R"(The array with a border: a constant, the nearest element (edge), or the mirrored array (reflect).

pad_width holds the widths before and after each axis, (before_0, after_0, before_1, ...). Raises ValueError when it
does not fit the array.)",
      .infer =
          [](Infer& i, const PadAttrs& a) {
            i.output(padded_shape(i.name(), i.shape(0), a.pad_width, border_of(a.mode)), i.dtype(0));
          },
      .kernel = [](KernelContext& c,
                   const PadAttrs& a) { pad_elements(c, a.pad_width, border_of(a.mode), a.constant_value); },
      .gradient = [](Gradient& g, const PadAttrs& a) { pad_back(g, a.pad_width, a.mode); },
      .saves_inputs = kNothing,
      .samples = {{{uniform({1, 1, 2, 3})}, make_attrs(PadAttrs{"reflect", {0, 0, 0, 0, 1, 1, 2, 2}})}},
  });
}

// Borders made of a statistic of each line: axis after axis, so that corners hold the statistic of the statistics.
NDArray pad_with_statistic(const NDArray& array, const NpPadAttrs& a) {
  padded_shape("pad", array.shape(), a.pad_width, Border::kEdge);
  const char* op = a.mode == "maximum" ? "_np_max" : a.mode == "minimum" ? "_np_min" : "_npi_mean";
  NDArray result = array;
  for (size_t i = 0; i < array.ndim(); ++i) {
    int64_t axis = static_cast<int64_t>(i), before = a.pad_width[2 * i], after = a.pad_width[2 * i + 1];
    if (before + after == 0) continue;
    NDArray line = call(op, {result}, {{"axis", Shape{axis}}, {"keepdims", true}});
    auto border = [&](int64_t width) { return call("repeat", {line}, {{"repeats", width}, {"axis", axis}}); };
    const OpDef& concat = find_op("Concat");
    NDArray parts[3] = {border(before), result, border(after)};
    result = invoke_all(concat, attrs_of(concat, {{"dim", axis}}), parts)[0];
  }
  return result;
}

// "((1, 1), (0, 2))"
std::string pairs_text(const Shape& widths) {
  std::string text;
  for (size_t i = 0; i + 1 < widths.size(); i += 2)
    text += fmt::format("{}({}, {})", text.empty() ? "" : ", ", widths[i], widths[i + 1]);
  return fmt::format("({}{})", text, widths.size() == 2 ? "," : "");
}

Shape widths_of_pairs(const std::string& text) {
  std::string numbers;
  for (char c : text)
    if (c != '(' && c != ')' && c != '[' && c != ']') numbers += c;
  const std::optional<Shape> widths = shape_from_text("(" + numbers + ")");
  check(widths.has_value(), ErrorKind::kValue, "pad: pad_width must be a pair for each axis, ((1, 1), ...), got '{}'",
        text);
  return *widths;
}

Spelling spelled_pad(const NpPadAttrs& a, size_t) {
  Spelling call{"_npi_pad", {{"pad_width", pairs_text(a.pad_width)}, {"mode", a.mode}}};
  if (a.mode == "constant") call.attrs.emplace_back("constant_value", a.constant_values);
  if (a.mode == "reflect" || a.mode == "symmetric") call.attrs.emplace_back("reflect_type", a.reflect_type);
  return call;
}

// What symbols hold for np.pad.
struct PairsPadAttrs {
  std::string pad_width;
  std::string mode = "constant";
  double constant_value = 0;
  std::string reflect_type = "even";
  static constexpr auto kFields =
      fields(field(&PairsPadAttrs::pad_width, "pad_width", "((before, after), ...), a pair for each axis.").required(),
             field(&PairsPadAttrs::mode, "mode", "What the border holds.")
                 .one_of("constant|edge|reflect|symmetric|wrap|maximum|minimum|mean"),
             field(&PairsPadAttrs::constant_value, "constant_value", "The border's value with mode='constant'."),
             field(&PairsPadAttrs::reflect_type, "reflect_type", "How reflections look; only 'even'.").one_of("even"));
};

OpDef pairs_pad() {
  return general<PairsPadAttrs>({
      .name = "_npi_pad",
      .doc = "np.pad with widths in pairs. Raises ValueError for widths that do not fit the array.",
      .compose = [](std::span<const NDArray> in, const PairsPadAttrs& a) -> std::vector<NDArray> {
        return {call("_np_pad", {in[0]},
                     {{"pad_width", widths_of_pairs(a.pad_width)},
                      {"mode", a.mode},
                      {"constant_values", a.constant_value},
                      {"reflect_type", a.reflect_type}})};
      },
      .samples = {{{uniform({2, 3})}, make_attrs(PairsPadAttrs{"((1, 1), (0, 2))", "edge"})}},
  });
}

OpDef np_pad() {
  return general<NpPadAttrs>({
      .name = "_np_pad",
      .doc =
          R"(The array with a border. Modes: constant, edge, reflect (mirrored without the edge), symmetric (mirrored with
it), wrap, and maximum, minimum, mean of each line.)",
      .inputs = {"array"},
      .compose = [](std::span<const NDArray> in, const NpPadAttrs& a) -> std::vector<NDArray> {
        if (a.mode == "maximum" || a.mode == "minimum" || a.mode == "mean")
          return {apart_from(pad_with_statistic(in[0], a), in[0])};
        return {call("_pad", {in[0]},
                     {{"pad_width", a.pad_width}, {"mode", a.mode}, {"constant_values", a.constant_values}})};
      },
      .spelling = spelled_pad,
      .samples = {{{uniform({2, 3})}, make_attrs(NpPadAttrs{{1, 0, 0, 2}, "mean"})},
                  {{uniform({2, 3})}, make_attrs(NpPadAttrs{{1, 1, 2, 0}, "wrap"})},
                  {{uniform({3})}, make_attrs(NpPadAttrs{{0, 2}, "constant", 1.5})}},
  });
}

OpDef pad() {
  return general<NpPadAttrs>({
      .name = "_pad",
      .doc = "The array with a border of constants or of copies of its elements.",
      .infer =
          [](Infer& i, const NpPadAttrs& a) {
            i.output(padded_shape(i.name(), i.shape(0), a.pad_width, border_of(a.mode)), i.dtype(0));
          },
      .kernel = [](KernelContext& c,
                   const NpPadAttrs& a) { pad_elements(c, a.pad_width, border_of(a.mode), a.constant_values); },
      .gradient = [](Gradient& g, const NpPadAttrs& a) { pad_back(g, a.pad_width, a.mode); },
      .saves_inputs = kNothing,
      .samples = {{{uniform({2, 3})}, make_attrs(NpPadAttrs{{1, 1, 2, 2}, "symmetric"})}},
  });
}

// Each element of the input collects what went to its copies.
OpDef pad_back_op() {
  return general<PadBackAttrs>({
      .name = "_pad_back",
      .doc = "The transpose of padding with copies of elements.",
      .infer =
          [](Infer& i, const PadBackAttrs& a) {
            i.require(is_floating(i.dtype(0)), ErrorKind::kType, "a float array is needed, got {}",
                      dtype_name(i.dtype(0)));
            Shape shape = i.shape(0);
            check_width(i.name(), shape, a.pad_width);
            for (size_t k = 0; k < shape.size(); ++k) {
              shape[k] -= a.pad_width[2 * k] + a.pad_width[2 * k + 1];
              i.require(shape[k] > 0 || i.shape(0)[k] == 0, ErrorKind::kValue,
                        "pad_width {} leaves nothing of shape {}", to_string(a.pad_width), to_string(i.shape(0)));
            }
            i.output(shape, i.dtype(0));
          },
      .kernel = [](KernelContext& c, const PadBackAttrs& a) { add_padded(c, a.pad_width, border_of(a.mode)); },
      .gradient =
          [](Gradient& g, const PadBackAttrs& a) {
            g.set(0, call("_pad", {g.head()}, {{"pad_width", a.pad_width}, {"mode", a.mode}}));
          },
      .saves_inputs = kNothing,
      .samples = {{{uniform({4, 7})}, make_attrs(PadBackAttrs{"reflect", {1, 1, 2, 2}})},
                  {{uniform({5, 6})}, make_attrs(PadBackAttrs{"edge", {2, 0, 1, 3}})}},
  });
}

}  // namespace

Operators pad_operators() { return {nd_pad(), np_pad(), pairs_pad(), pad(), pad_back_op()}; }

}  // namespace headrace
