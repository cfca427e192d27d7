#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "backend/cpu/parallel.h"
#include "base/check.h"
#include "op/formula/transfer.h"
#include "ops/nn/ctc_loss.h"
#include "ops/nn/log_sums.h"
#include "ops/reduce/softmax_rows.h"

namespace headrace {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

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

void loss_on_host(KernelContext& c, const CtcAttrs& a) {
  const Batch batch(c, a, 0);
  const DType dtype = batch.data.dtype;
  std::vector<double> losses(static_cast<size_t>(batch.count), 0);
  for_each_sequence(batch, dtype, [&](int64_t n, auto lattice) {
    if (lattice.is_possible()) losses[static_cast<size_t>(n)] = -lattice.forward();
  });
  store_function(ComputeType::kFloat64, dtype)(losses.data(), c.output(0).data, 1, batch.count);
}

void gradient_on_host(KernelContext& c, const CtcAttrs& a) {
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

}  // namespace

const decltype(ctc_forward) ctc_forward{"ctc_forward", loss_on_host};
const decltype(ctc_backward) ctc_backward{"ctc_backward", gradient_on_host};

}  // namespace headrace
