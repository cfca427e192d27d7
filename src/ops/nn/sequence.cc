// SequenceMask, SequenceLast, SequenceReverse: batches of sequences of different lengths. Data are (time, batch, ...),
// or (batch, time, ...) with axis=1.
#include "ops/nn/sequence.h"

#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"

namespace headrace {
namespace {

constexpr const char* kUseLengthDoc = "Whether sequence_length says how long each sequence is; else all are whole.";
constexpr const char* kAxisDoc = "Axis of time: 0 or 1.";

struct SequenceAttrs {
  bool use_sequence_length = false;
  int64_t axis = 0;
  static constexpr auto kFields =
      fields(field(&SequenceAttrs::use_sequence_length, "use_sequence_length", kUseLengthDoc),
             field(&SequenceAttrs::axis, "axis", kAxisDoc));
};

struct MaskAttrs {
  bool use_sequence_length = false;
  double value = 0;
  int64_t axis = 0;
  static constexpr auto kFields = fields(field(&MaskAttrs::use_sequence_length, "use_sequence_length", kUseLengthDoc),
                                         field(&MaskAttrs::value, "value", "Put where a sequence has ended."),
                                         field(&MaskAttrs::axis, "axis", kAxisDoc));
};

struct SpreadAttrs {
  int64_t axis = 0, length = 0;
  static constexpr auto kFields =
      fields(field(&SpreadAttrs::axis, "axis", kAxisDoc), field(&SpreadAttrs::length, "length", "Extent of time."));
};

void check_call(const Infer& i, const Shape& data, int64_t axis, size_t given, bool use_lengths) {
  i.require(axis == 0 || axis == 1, ErrorKind::kValue, "axis must be 0 or 1, got {}", axis);
  i.require(data.size() >= 2, ErrorKind::kRuntime,
            "data must have at least 2 dimensions (time and batch), got shape {}", to_string(data));
  if (given < 2) {
    i.require(!use_lengths, ErrorKind::kValue,
              "use_sequence_length=True needs the array `sequence_length`; pass the length of each sequence");
    return;
  }
  i.require(use_lengths, ErrorKind::kValue,
            "an array `sequence_length` was given; pass use_sequence_length=True to use it");
  const Shape wanted{data[static_cast<size_t>(1 - axis)]};
  i.require(i.shape(1) == wanted, ErrorKind::kRuntime,
            "sequence_length must have shape {} (the batch of data {}), got {}", to_string(wanted), to_string(data),
            to_string(i.shape(1)));
}

template <class A>
OpDef parts(std::string name, std::string doc, std::vector<std::string> python) {
  return {.name = std::move(name),
          .python = std::move(python),
          .doc = std::move(doc),
          .inputs = {"data", "sequence_length"},
          .optional_inputs = 1,
          .input_count = [](const A& a) -> size_t { return a.use_sequence_length ? 2 : 1; },
          .complete =
              [](Completion& c, const A& a) {
                if (c.is_known(0) && c.shape(0).size() >= 2 && (a.axis == 0 || a.axis == 1))
                  c.set(1, Shape{c.shape(0)[static_cast<size_t>(1 - a.axis)]});
              },
          .saves_inputs = 0b10};
}

// Calls `op` on the gradient, with the lengths where the call had them.
NDArray with_lengths(const Gradient& g, const OpDef& op, const AttrsPtr& attrs) {
  return g.input_count() > 1 ? call(op, attrs, {g.head(), g.input(1)}) : call(op, attrs, {g.head()});
}

OpDef sequence_mask() {
  using A = MaskAttrs;
  auto g = parts<A>("SequenceMask",
                    "The data with what lies behind the end of each sequence replaced by `value`. Lengths beyond the "
                    "data count as whole. Raises MXNetError for lengths of another shape, ValueError for another axis.",
                    {"nd.SequenceMask", "npx.sequence_mask"});
  g.aliases = {"_npx_sequence_mask"};
  g.infer = [](Infer& i, const A& a) {
    check_call(i, i.shape(0), a.axis, i.input_count(), a.use_sequence_length);
    i.output(i.shape(0), i.dtype(0));
  };
  g.kernel = [](KernelContext& c, const A& a) { run_sequences(c, SequenceWork::kMask, a.axis, a.value); };
  g.gradient = [](Gradient& g, const A& a) {
    g.set(0, with_lengths(g, g.op(), make_attrs(A{a.use_sequence_length, 0, a.axis})));
    if (g.input_count() > 1 && g.wants(1)) g.set(1, zeros_like(g.input(1)));
  };
  g.samples = {Sample({uniform({3, 2, 2}), values({1, 3}, DType::kInt32)},
                      make_attrs(A{.use_sequence_length = true, .value = -1})),
               Sample({uniform({2, 3}), integers({2}, 0, 3)}, make_attrs(A{.use_sequence_length = true, .axis = 1})),
               uniform({2, 3})};
  return general<A>(std::move(g));
}

OpDef sequence_last() {
  using A = SequenceAttrs;
  auto g =
      parts<A>("SequenceLast",
               "The last element of each sequence. Lengths below 1 give the first element, lengths beyond the data "
               "the last. Raises MXNetError for lengths of another shape or sequences without elements, ValueError "
               "for another axis.",
               {"nd.SequenceLast"});
  g.infer = [](Infer& i, const A& a) {
    const Shape& data = i.shape(0);
    check_call(i, data, a.axis, i.input_count(), a.use_sequence_length);
    Shape result = data;
    result.erase(static_cast<size_t>(a.axis));
    i.require(data[static_cast<size_t>(a.axis)] > 0 || element_count(result) == 0, ErrorKind::kRuntime,
              "the sequences of data {} have no elements", to_string(data));
    i.output(result, i.dtype(0));
  };
  g.kernel = [](KernelContext& c, const A& a) { run_sequences(c, SequenceWork::kLast, a.axis, 0); };
  g.gradient = [](Gradient& g, const A& a) {
    static const OpDef& backward = find_op("_backward_SequenceLast");
    const int64_t time = g.input(0).shape()[static_cast<size_t>(a.axis)];
    g.set(0, with_lengths(g, backward, make_attrs(SpreadAttrs{a.axis, time})));
    if (g.input_count() > 1 && g.wants(1)) g.set(1, zeros_like(g.input(1)));
  };
  g.samples = {Sample({uniform({3, 2, 2}), integers({2}, 1, 4)}, make_attrs(A{.use_sequence_length = true})),
               Sample({uniform({2, 3})}, make_attrs(A{.axis = 1}))};
  return general<A>(std::move(g));
}

OpDef last_backward_operator() {
  using A = SpreadAttrs;
  return general<A>({.name = "_backward_SequenceLast",
                     .doc = "The array at the end of each sequence, zeros elsewhere.",
                     .inputs = {"gradient", "sequence_length"},
                     .optional_inputs = 1,
                     .infer =
                         [](Infer& i, const A& a) {
                           Shape shape = i.shape(0);
                           i.require(!shape.empty() && a.length >= 0 && (a.axis == 0 || a.axis == 1),
                                     ErrorKind::kRuntime, "shape {} cannot be spread to {} elements along axis {}",
                                     to_string(shape), a.length, a.axis);
                           expect_shape(i, 1, Shape{shape[0]});
                           shape.insert(static_cast<size_t>(a.axis), a.length);
                           i.output(shape, i.dtype(0));
                         },
                     .kernel = [](KernelContext& c, const A& a) { run_sequences(c, SequenceWork::kSpread, a.axis, 0); },
                     .gradient =
                         [](Gradient& g, const A& a) {
                           static const OpDef& last = find_op("SequenceLast");
                           g.set(0, with_lengths(g, last, make_attrs(SequenceAttrs{g.input_count() > 1, a.axis})));
                         },
                     .saves_inputs = 0b10,
                     .samples = {Sample({uniform({2, 2}), integers({2}, -1, 5)}, make_attrs(A{.length = 3})),
                                 Sample({uniform({2, 3})}, make_attrs(A{.axis = 1, .length = 2}))}});
}

OpDef sequence_reverse() {
  using A = SequenceAttrs;
  auto g = parts<A>("SequenceReverse",
                    "Each sequence backwards; what lies behind its end stays. Raises MXNetError for lengths of another "
                    "shape, ValueError for another axis.",
                    {"nd.SequenceReverse"});
  g.infer = [](Infer& i, const A& a) {
    check_call(i, i.shape(0), a.axis, i.input_count(), a.use_sequence_length);
    i.output(i.shape(0), i.dtype(0));
  };
  g.kernel = [](KernelContext& c, const A& a) { run_sequences(c, SequenceWork::kReverse, a.axis, 0); };
  g.gradient = [](Gradient& g, const A&) {
    g.set(0, with_lengths(g, g.op(), g.attrs()));
    if (g.input_count() > 1 && g.wants(1)) g.set(1, zeros_like(g.input(1)));
  };
  g.samples = {Sample({uniform({3, 2, 2}), integers({2}, 1, 4)}, make_attrs(A{.use_sequence_length = true})),
               Sample({uniform({2, 3})}, make_attrs(A{.axis = 1}))};
  return general<A>(std::move(g));
}

}  // namespace

Operators sequence_operators() {
  return {sequence_mask(), sequence_last(), last_backward_operator(), sequence_reverse()};
}

}  // namespace headrace
