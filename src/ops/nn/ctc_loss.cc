// Connectionist temporal classification: minus the log-probability that a sequence of class scores spells a label, over
// all alignments with blanks between and repetitions of its elements.
#include "ops/nn/ctc_loss.h"

#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/rule.h"

namespace headrace {
namespace {

size_t inputs_of(const CtcAttrs& a) { return 2 + size_t{a.use_data_lengths} + size_t{a.use_label_lengths}; }

// Checks (data, label, lengths ...), which begin at input `first`.
void check_inputs(const Infer& i, const CtcAttrs& a, size_t first) {
  i.require(i.input_count() == first + inputs_of(a), ErrorKind::kType,
            "{} arrays are needed with use_data_lengths={} and use_label_lengths={}, got {}", first + inputs_of(a),
            a.use_data_lengths, a.use_label_lengths, i.input_count());
  const Shape &data = i.shape(first), &label = i.shape(first + 1);
  expect_floats(i, first);
  i.require(data.size() == 3, ErrorKind::kRuntime,
            "The number of dimensions of data array must be 3: (time, batch, "
            "classes); got shape {}",
            to_string(data));
  i.require(data[2] > 0, ErrorKind::kRuntime, "data need at least the class of the blank, got shape {}",
            to_string(data));
  i.require(label.size() == 2 && label[0] == data[1], ErrorKind::kRuntime,
            "labels of shape ({}, length) are needed for data {}, got {}", data[1], to_string(data), to_string(label));
  i.require(data[0] >= label[1], ErrorKind::kRuntime,
            "The max number of labels cannot exceed the maximum sequence length of the data: got labels {} for data {}",
            to_string(label), to_string(data));
  for (size_t k = first + 2; k < i.input_count(); ++k) expect_shape(i, k, Shape{data[1]});
}

Sample sample(CtcAttrs attrs, Shape data, std::vector<double> labels, int64_t width,
              std::vector<std::vector<double>> lengths = {}) {
  SampleArray label = values(std::move(labels));
  label.shape = {data[1], width};
  std::vector<SampleArray> arrays{uniform(std::move(data)), std::move(label)};
  for (auto& one : lengths) arrays.push_back(values(std::move(one)));
  return {std::move(arrays), make_attrs(std::move(attrs))};
}

OpDef ctc_loss() {
  return general<CtcAttrs>(
      {.name = "CTCLoss",
       .aliases = {"ctc_loss", "_contrib_CTCLoss", "_contrib_ctc_loss"},
       .python = {"nd.CTCLoss", "nd.ctc_loss", "nd.contrib.CTCLoss", "nd.contrib.ctc_loss", "npx.ctc_loss"},
       .doc = R"(Minus the log-probability of each label, over all its alignments with the sequence: shape (batch,).

`data` (time, batch, classes) are scores before softmax, one class being the blank; `label` (batch, length) are classes,
and end at the padding value, 0 with the blank first and -1 with the blank last, or at label_lengths. Sequences end at
data_lengths. A label that does not fit into its sequence has loss and gradient 0.

Raises MXNetError for shapes that do not fit, TypeError for data that are not floats, ValueError for labels that are no
classes.)",
       .inputs = {"data", "label", "data_lengths", "label_lengths"},
       .optional_inputs = 2,
       .counted_outputs = always(2),
       .array_names = {.numbers_counted = true},
       .input_name = [](const CtcAttrs& a, size_t i) -> std::string {
         return i == 2 && !a.use_data_lengths ? "label_lengths" : "";
       },
       .input_count = inputs_of,
       .infer =
           [](Infer& i, const CtcAttrs& a) {
             check_inputs(i, a, 0);
             i.output(Shape{i.shape(0)[1]}, i.dtype(0));
             i.cost(100 + static_cast<double>(i.size(0)) * 5);
           },
       .kernel = [](KernelContext& c, const CtcAttrs& a) { ctc_forward(c, a); },
       .gradient =
           [](Gradient& g, const CtcAttrs&) {
             std::vector<NDArray> inputs{g.head()};
             for (size_t k = 0; k < g.input_count(); ++k) inputs.push_back(g.input(k));
             if (g.wants(0)) g.set(0, invoke_all(find_op("_backward_ctc_loss"), g.attrs(), inputs)[0]);
             for (size_t k = 1; k < g.input_count(); ++k)
               if (g.wants(k)) g.set(k, zeros_like(g.input(k)));
           },
       .samples = {sample({}, {4, 3, 5}, {1, 2, 2, 2, 4, 0}, 2),
                   sample({.use_data_lengths = true, .use_label_lengths = true, .blank_label = "last"}, {5, 2, 4},
                          {0, 0, 2, 1, 1, -1}, 3, {{5, 4}, {3, 1}}),
                   sample({.use_label_lengths = true}, {3, 2, 3}, {1, 1, 1, 2}, 2, {{0, 2}})}});
}

OpDef ctc_loss_gradient() {
  return general<CtcAttrs>({.name = "_backward_ctc_loss",
                            .doc = "The gradient of CTCLoss to its data, from that of the loss and the inputs.",
                            .inputs = {"head", "data", "label", "data_lengths", "label_lengths"},
                            .optional_inputs = 2,
                            .input_count = [](const CtcAttrs& a) { return 1 + inputs_of(a); },
                            .infer =
                                [](Infer& i, const CtcAttrs& a) {
                                  check_inputs(i, a, 1);
                                  expect_shape(i, 0, Shape{i.shape(1)[1]});
                                  i.output(i.shape(1), i.dtype(1));
                                  i.cost(100 + static_cast<double>(i.size(1)) * 10);
                                },
                            .kernel = [](KernelContext& c, const CtcAttrs& a) { ctc_backward(c, a); },
                            .unsampled = "tested as the gradient of CTCLoss"});
}

}  // namespace

Operators ctc_loss_operators() { return {ctc_loss(), ctc_loss_gradient()}; }

}  // namespace headrace
