// Connectionist temporal classification: a lattice of times and places in a label, with the blanks, for each sequence.
#pragma once

#include <cstdint>

namespace headrace::device {

constexpr unsigned kCtcThreads = 256;  // of the block that works on a sequence, as in op/device/group.cuh

// Numbers of any dtype become int64_t within their bounds. What is written of the first label that is no class: the
// number of its sequence, or -1, and its value.
struct CtcNumbersArguments {
  const void* labels;
  const void* given_times;  // these two: null where they are not given
  const void* given_lengths;
  int64_t* numbers;  // labels (count, width)
  int64_t* times;
  int64_t* lengths;  // of labels
  int64_t* found;
  int64_t time, count, classes, width;
  int64_t padding;  // ends a label whose length is not given
};

struct CtcArguments {
  const void* scores;  // (time, count, classes)
  const void* head;
  void* to;
  const int64_t* labels;
  const int64_t* times;
  const int64_t* lengths;
  double* norms;        // (time, count): what is taken from scores, to make them logarithms of probabilities
  double* ahead;        // (count, rows, places)
  double* totals;       // (count): the logarithm of the probability of each label
  double* rows_behind;  // (count, 3, places)
  int64_t* links;       // (count, width, 2): the next equal element of a label, and the one before or -1
  int64_t time, count, classes, width, blank;
  int64_t rows;  // of `ahead` that are kept, all or the last two
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include <cmath>
#include <limits>

#include "op/device/group.cuh"

namespace headrace::device {

struct Least {
  int64_t operator()(int64_t a, int64_t b) const { return a < b ? a : b; }
};

inline int64_t within(int64_t x, int64_t most) { return x < 0 ? 0 : x > most ? most : x; }

// By one block.
template <class Label, class Time, class Length>
inline void ctc_numbers(const CtcNumbersArguments& a) {
  int64_t first_wrong = a.count * a.width;
  for (int64_t n = threadIdx.x; n < a.count; n += kBlockThreads) {
    a.times[n] =
        a.given_times ? within(numeric_cast<int64_t>(static_cast<const Time*>(a.given_times)[n]), a.time) : a.time;
    int64_t length = a.width;
    if (a.given_lengths)
      length = within(numeric_cast<int64_t>(static_cast<const Length*>(a.given_lengths)[n]), a.width);
    for (int64_t k = n * a.width; k < n * a.width + length; ++k) {
      const auto label = numeric_cast<int64_t>(static_cast<const Label*>(a.labels)[k]);
      if (!a.given_lengths && label == a.padding) {
        length = k - n * a.width;
        break;
      }
      if ((label < 0 || label >= a.classes) && k < first_wrong) first_wrong = k;
      a.numbers[k] = within(label, a.classes - 1);
    }
    a.lengths[n] = length;
  }
  first_wrong = Group<kBlockThreads>::combined(first_wrong, Least());
  if (threadIdx.x != 0) return;
  const bool is_wrong = first_wrong < a.count * a.width;
  a.found[0] = is_wrong ? first_wrong / a.width : -1;
  a.found[1] = is_wrong ? numeric_cast<int64_t>(static_cast<const Label*>(a.labels)[first_wrong]) : 0;
}

template <class T, int kWidth>
inline void ctc_norms(const CtcArguments& a) {
  using Threads = Group<kWidth>;
  using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;
  for (int64_t first = blockIdx.x * static_cast<int64_t>(Threads::kCount); first < a.time * a.count;
       first += gridDim.x * static_cast<int64_t>(Threads::kCount)) {
    const int64_t row = first + Threads::number();
    const int64_t n = row < a.time * a.count ? a.classes : 0;
    const T* const scores = static_cast<const T*>(a.scores) + (n > 0 ? row * a.classes : 0);
    Compute top = -std::numeric_limits<Compute>::infinity(), sum = 0;
    for (int64_t k = Threads::lane(); k < n; k += kWidth) top = Larger()(top, numeric_cast<Compute>(scores[k]));
    top = Threads::combined(top, Larger());
    for (int64_t k = Threads::lane(); k < n; k += kWidth) sum += std::exp(numeric_cast<Compute>(scores[k]) - top);
    const double all = Threads::combined(static_cast<double>(sum), Plus());
    if (n > 0 && Threads::lane() == 0) a.norms[row] = static_cast<double>(top) + std::log(all);
  }
}

// exp(result) = exp(x) + exp(y) + exp(z)
inline double log_sum(double x, double y, double z) {
  double top = x > y ? x : y;
  top = top > z ? top : z;
  if (top < -1e300) top = -1e300;  // finite where all three are minus infinity
  return top + std::log(std::exp(x - top) + (std::exp(y - top) + std::exp(z - top)));
}

// The sequence of a block and its label.
template <class T>
struct CtcSequence {
  const CtcArguments& a;
  const int64_t n, time, length, places;
  const int64_t* const label;

  CtcSequence(const CtcArguments& arguments, int64_t number)
      : a(arguments),
        n(number),
        time(a.times[n]),
        length(a.lengths[n]),
        places(2 * length + 1),
        label(a.labels + n * a.width) {}

  int64_t stride() const { return 2 * a.width + 1; }
  double* ahead(int64_t t) const { return a.ahead + (n * a.rows + t % a.rows) * stride(); }
  double* behind(int64_t k) const { return a.rows_behind + (3 * n + k) * stride(); }
  int64_t class_at(int64_t s) const { return s % 2 ? label[s / 2] : a.blank; }
  double log_of(int64_t t, int64_t k) const {
    const int64_t row = t * a.count + n;
    return numeric_cast<double>(static_cast<const T*>(a.scores)[row * a.classes + k]) - a.norms[row];
  }
  bool may_skip_to(int64_t s) const { return s > 1 && class_at(s) != a.blank && class_at(s) != class_at(s - 2); }
  bool is_possible() const {
    int64_t needed = length;
    for (int64_t i = 1; i < length; ++i) needed += label[i] == label[i - 1] ? 1 : 0;
    return needed <= time;
  }
};

// What remains impossible has the gradient 0, and a total that is no number.
template <class T>
inline void ctc_forward(const CtcArguments& a) {
  constexpr double kImpossible = -std::numeric_limits<double>::infinity();
  for (int64_t n = blockIdx.x; n < a.count; n += gridDim.x) {
    const CtcSequence<T> q(a, n);
    const bool is_possible = q.is_possible();
    for (int64_t t = 0; t < (is_possible ? q.time : 0); ++t) {
      double* const now = q.ahead(t);
      const double* const before = q.ahead(t + a.rows - 1);
      for (int64_t s = threadIdx.x; s < q.places; s += kBlockThreads) {
        double value = s < 2 ? 0 : kImpossible;
        if (t > 0)
          value =
              log_sum(before[s], s > 0 ? before[s - 1] : kImpossible, q.may_skip_to(s) ? before[s - 2] : kImpossible);
        now[s] = value + q.log_of(t, q.class_at(s));
      }
      __syncthreads();
    }
    if (threadIdx.x != 0) continue;
    double total = 0;
    if (q.time > 0 && is_possible) {
      const double* const last = q.ahead(q.time - 1);
      total = q.places > 1 ? log_sum(last[q.places - 1], last[q.places - 2], kImpossible) : last[0];
    }
    a.totals[n] = is_possible ? total : std::numeric_limits<double>::quiet_NaN();
    if (a.to) static_cast<T*>(a.to)[n] = numeric_cast<T>(is_possible ? -total : 0.0);
  }
}

// Links equal elements of a label.
template <class T>
inline void link_label(const CtcSequence<T>& q) {
  int64_t* const links = q.a.links + 2 * q.n * q.a.width;
  for (int64_t i = threadIdx.x; i < q.length; i += kBlockThreads) {
    int64_t before = i - 1, after = i + 1;
    while (before >= 0 && q.label[before] != q.label[i]) --before;
    while (after < q.length && q.label[after] != q.label[i]) ++after;
    links[2 * i] = after;
    links[2 * i + 1] = before;
  }
}

template <class T, class Head>
inline void ctc_backward(const CtcArguments& a) {
  using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;
  for (int64_t n = blockIdx.x; n < a.count; n += gridDim.x) {
    const CtcSequence<T> q(a, n);
    const double total = a.totals[n];
    const auto head = numeric_cast<Compute>(static_cast<const Head*>(a.head)[n]);
    const int64_t time = total == total ? q.time : 0;
    const int64_t* const links = a.links + 2 * n * a.width;
    double* const behind = q.behind(0);
    double* const later = q.behind(1);
    double* const shares = q.behind(2);
    link_label(q);
    for (int64_t t = a.time - 1; t >= 0; --t) {
      T* const row = static_cast<T*>(a.to) + (t * a.count + n) * a.classes;
      if (t >= time) {
        for (int64_t k = threadIdx.x; k < a.classes; k += kBlockThreads) row[k] = numeric_cast<T>(Compute{0});
        continue;
      }
      for (int64_t s = threadIdx.x; t < time - 1 && s < q.places; s += kBlockThreads)
        later[s] = behind[s] + q.log_of(t + 1, q.class_at(s));
      __syncthreads();
      for (int64_t s = threadIdx.x; s < q.places; s += kBlockThreads) {
        constexpr double kImpossible = -std::numeric_limits<double>::infinity();
        double value = s >= q.places - 2 ? 0 : kImpossible;
        if (t < time - 1)
          value = log_sum(later[s], s + 1 < q.places ? later[s + 1] : kImpossible,
                          s + 2 < q.places && q.may_skip_to(s + 2) ? later[s + 2] : kImpossible);
        behind[s] = value;
        shares[s] = std::exp(q.ahead(t)[s] + value - total);
      }
      __syncthreads();
      double mine = 0;  // of the blank
      for (int64_t s = threadIdx.x; s < q.places; s += kBlockThreads)
        if (q.class_at(s) == a.blank) mine += shares[s];
      const double of_blank = Group<kBlockThreads>::combined(mine, Plus());
      for (int64_t k = threadIdx.x; k < a.classes; k += kBlockThreads) {
        const auto probability = static_cast<Compute>(std::exp(q.log_of(t, k)));
        row[k] = numeric_cast<T>((probability - static_cast<Compute>(k == a.blank ? of_blank : 0)) * head);
      }
      __syncthreads();
      for (int64_t i = threadIdx.x; i < q.length; i += kBlockThreads) {
        if (links[2 * i + 1] >= 0 || q.label[i] == a.blank) continue;  // the first of equal ones counts all
        double share = 0;
        for (int64_t k = i; k < q.length; k = links[2 * k]) share += shares[2 * k + 1];
        const auto probability = static_cast<Compute>(std::exp(q.log_of(t, q.label[i])));
        row[q.label[i]] = numeric_cast<T>((probability - static_cast<Compute>(share)) * head);
      }
      __syncthreads();
    }
    __syncthreads();
  }
}

}  // namespace headrace::device
#endif
