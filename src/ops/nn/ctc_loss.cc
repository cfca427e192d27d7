// Connectionist temporal classification: minus the log-probability that a sequence of class scores spells a label, over
// all alignments with blanks between and repetitions of its elements.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "backend/cpu/parallel.h"
#include "base/check.h"
#include "op/expect.h"
#include "op/formula/transfer.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/nn/log_sums.h"
#include "ops/reduce/softmax_rows.h"

namespace headrace {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

struct CtcAttrs {
  bool use_data_lengths = false, use_label_lengths = false;
  std::string blank_label = "first";
  static constexpr auto kFields = fields(
      field(&CtcAttrs::use_data_lengths, "use_data_lengths", "Whether data_lengths says how long sequences are."),
      field(&CtcAttrs::use_label_lengths, "use_label_lengths",
            "Whether label_lengths says how long labels are; else they end at the first 0 (blank first) or -1 "
            "(blank last)."),
      field(&CtcAttrs::blank_label, "blank_label", "The class that is the blank: 0 or the last.").one_of("first|last"));
};

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

// Numbers of an array as integers.
std::vector<int64_t> integers_of(const Tensor& tensor) {
  std::vector<int64_t> values(static_cast<size_t>(tensor.size));
  load_function(tensor.dtype, ComputeType::kInt64)(values.data(), tensor.data, 1, tensor.size);
  return values;
}

// What a call works on; inputs begin at `first`.
struct Batch {
  Batch(const KernelContext& c, const CtcAttrs& a, size_t first)
      : data(c.input(first)),
        time(data.shape[0]),
        count(data.shape[1]),
        classes(data.shape[2]),
        width(c.input(first + 1).shape[1]),
        blank(a.blank_label == "first" ? 0 : classes - 1),
        labels(integers_of(c.input(first + 1))),
        times(static_cast<size_t>(count), time),
        lengths(static_cast<size_t>(count)) {
    size_t next = first + 2;
    if (a.use_data_lengths) times = integers_of(c.input(next++));
    for (int64_t& one : times) one = std::clamp<int64_t>(one, 0, time);
    if (a.use_label_lengths) lengths = integers_of(c.input(next));
    const int64_t padding = blank == 0 ? 0 : -1;
    for (int64_t n = 0; n < count; ++n) {
      const auto begin = labels.begin() + n * width;
      int64_t& length = lengths[static_cast<size_t>(n)];
      length = a.use_label_lengths ? std::clamp<int64_t>(length, 0, width)
                                   : std::find(begin, begin + width, padding) - begin;
      for (auto one = begin; one != begin + length; ++one)
        check(*one >= 0 && *one < classes, ErrorKind::kValue,
              "{}: labels must be classes from 0 to {}, got {} in label {}", c.name(), classes - 1, *one, n);
    }
  }
  double cost() const {
    return static_cast<double>(count * time) * (static_cast<double>(classes) * 3 + static_cast<double>(width) * 10);
  }

  const Tensor& data;
  int64_t time, count, classes, width, blank;
  std::vector<int64_t> labels, times, lengths;
};

// One sequence and its label, with the blanks: a lattice of times and places in the label.
template <class T>
class Lattice {
 public:
  Lattice(const Batch& batch, int64_t n)
      : classes_(batch.classes),
        time_(batch.times[static_cast<size_t>(n)]),
        places_(2 * batch.lengths[static_cast<size_t>(n)] + 1),
        blank_(batch.blank),
        label_(batch.labels.data() + n * batch.width),
        logs_(static_cast<size_t>(time_ * classes_)),
        skip_(row_of(0)) {
    const size_t row_bytes = static_cast<size_t>(classes_) * item_size(batch.data.dtype);
    const Load load = load_function(batch.data.dtype, dtype_of_tile());
    for (int64_t t = 0; t < time_; ++t) {
      T* row = logs_.data() + t * classes_;
      load(row, batch.data.as<char>() + static_cast<size_t>(t * batch.count + n) * row_bytes, 1, classes_);
      softmax_kernels(T{}).log_softmax(row, row, classes_, 1);
    }
    for (int64_t s = 0; s < places_; ++s)
      if (!may_skip_to(s)) skip_[static_cast<size_t>(s)] = kImpossible;
  }

  // Whether there is time for all elements and for the blanks between equal ones.
  bool is_possible() const {
    int64_t needed = places_ / 2;
    for (int64_t i = 1; i < places_ / 2; ++i) needed += label_[i] == label_[i - 1] ? 1 : 0;
    return needed <= time_;
  }

  // The log-probability of the label. Fills `ahead_`.
  double forward() {
    if (time_ == 0) return 0;
    ahead_.assign(static_cast<size_t>(time_ * stride()), kImpossible);
    ahead(0)[0] = log_of(0, 0);
    if (places_ > 1) ahead(0)[1] = log_of(0, 1);
    for (int64_t t = 1; t < time_; ++t) {
      const double* before = ahead(t - 1);
      log_sum_kernels().sums(before, before - 1, before - 2, skip_.data(), ahead(t), places_);
      add_logs(t, ahead(t));
    }
    const double* last = ahead(time_ - 1);
    const double nothing = kImpossible, zero = 0;
    double total = last[0];
    if (places_ > 1) log_sum_kernels().sums(last + places_ - 1, last + places_ - 2, &nothing, &zero, &total, 1);
    return total;
  }

  // After forward(): writes the gradient of -total to the scores of time t through write(t, row).
  template <class Write>
  void backward(double total, Write&& write) {
    // The log-probabilities of the rest of the label, by place: after the present time, and after the next one.
    std::vector<double> behind = row_of(kImpossible), later = behind, shares = behind;
    for (int64_t s = std::max<int64_t>(0, places_ - 2); s < places_; ++s) behind[static_cast<size_t>(s)] = 0;
    std::vector<T> row(static_cast<size_t>(classes_));
    for (int64_t t = time_ - 1; t >= 0; --t) {
      if (t < time_ - 1) {
        std::swap(behind, later);
        add_logs(t + 1, later.data());
        const double* x = later.data();
        log_sum_kernels().sums(x, x + 1, x + 2, skip_.data() + 2, behind.data(), places_);
      }
      softmax_kernels(T{}).softmax(logs_.data() + t * classes_, row.data(), classes_, 1);
      log_sum_kernels().shares(ahead(t), behind.data(), total, shares.data(), places_);
      for (int64_t s = 0; s < places_; ++s)
        row[static_cast<size_t>(class_at(s))] -= static_cast<T>(shares[static_cast<size_t>(s)]);
      write(t, row.data());
    }
  }

  int64_t time() const noexcept { return time_; }

 private:
  static constexpr int64_t kMostSteps = 2;  // from a place to one behind it

  static constexpr ComputeType dtype_of_tile() {
    return std::is_same_v<T, float> ? ComputeType::kFloat32 : ComputeType::kFloat64;
  }
  // A number for each place and for those that a step leads to beyond the last one.
  int64_t stride() const noexcept { return places_ + kMostSteps; }
  std::vector<double> row_of(double value) const { return std::vector<double>(static_cast<size_t>(stride()), value); }
  // The log-probabilities of being at a place after time t; what stands before the first one is impossible.
  double* ahead(int64_t t) noexcept { return ahead_.data() + t * stride() + kMostSteps; }

  int64_t class_at(int64_t s) const noexcept { return s % 2 ? label_[s / 2] : blank_; }
  double log_of(int64_t t, int64_t s) const noexcept { return logs_[static_cast<size_t>(t * classes_ + class_at(s))]; }
  // Adds to each place of a row the log-probability of its class at time t.
  void add_logs(int64_t t, double* row) const noexcept {
    const T* logs = logs_.data() + t * classes_;
    const double of_blank = logs[blank_];
    row[0] += of_blank;
    for (int64_t s = 1; s < places_; s += 2) {
      row[s] += logs[label_[s / 2]];
      row[s + 1] += of_blank;
    }
  }
  // From the element before, without the blank between.
  bool may_skip_to(int64_t s) const noexcept {
    return s > 1 && class_at(s) != blank_ && class_at(s) != class_at(s - 2);
  }

  int64_t classes_, time_, places_, blank_;
  const int64_t* label_;
  std::vector<T> logs_;       // of the probabilities of classes
  std::vector<double> skip_;  // by place: 0 where may_skip_to(), otherwise what makes it impossible
  std::vector<double> ahead_;
};

template <class F>
void for_each_sequence(const Batch& batch, DType dtype, F&& body) {
  parallel_for(batch.count, 1, batch.cost(), [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      if (dtype == DType::kFloat64)
        body(n, Lattice<double>(batch, n));
      else
        body(n, Lattice<float>(batch, n));
    }
  });
}

void loss(KernelContext& c, const CtcAttrs& a) {
  const Batch batch(c, a, 0);
  const DType dtype = batch.data.dtype;
  std::vector<double> losses(static_cast<size_t>(batch.count), 0);
  for_each_sequence(batch, dtype, [&](int64_t n, auto lattice) {
    if (lattice.is_possible()) losses[static_cast<size_t>(n)] = -lattice.forward();
  });
  store_function(ComputeType::kFloat64, dtype)(losses.data(), c.output(0).data, 1, batch.count);
}

void loss_gradient(KernelContext& c, const CtcAttrs& a) {
  const Batch batch(c, a, 1);
  const Tensor& out = c.output(0);
  std::fill_n(out.as<char>(), static_cast<size_t>(out.size) * item_size(out.dtype), 0);
  std::vector<double> heads(static_cast<size_t>(batch.count));
  load_function(c.input(0).dtype, ComputeType::kFloat64)(heads.data(), c.input(0).data, 1, batch.count);
  const size_t row_bytes = static_cast<size_t>(batch.classes) * item_size(out.dtype);
  for_each_sequence(batch, out.dtype, [&]<class T>(int64_t n, Lattice<T> lattice) {
    if (!lattice.is_possible()) return;
    const Store store =
        store_function(std::is_same_v<T, float> ? ComputeType::kFloat32 : ComputeType::kFloat64, out.dtype);
    lattice.backward(lattice.forward(), [&](int64_t t, T* row) {
      for (int64_t k = 0; k < batch.classes; ++k) row[k] *= static_cast<T>(heads[static_cast<size_t>(n)]);
      store(row, out.as<char>() + static_cast<size_t>(t * batch.count + n) * row_bytes, 1, batch.classes);
    });
  });
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
       .kernel = loss,
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
                            .kernel = loss_gradient,
                            .unsampled = "tested as the gradient of CTCLoss"});
}

}  // namespace

Operators ctc_loss_operators() { return {ctc_loss(), ctc_loss_gradient()}; }

}  // namespace headrace
