#include "ops/pooling/plain_pooling.h"

#include <cmath>

#include "backend/cpu/parallel.h"
#include "base/dtype_dispatch.h"
#include "ops/convolution/plain_grid.h"

namespace headrace {
namespace {

template <class T>
class Plain {
  using Sum = std::conditional_t<std::is_integral_v<T>, int64_t, double>;

 public:
  explicit Plain(const PoolingProblem& p)
      : window_(p.window),
        data_(p.data),
        result_(p.result),
        kernel_(spatial(p.window.kernel, 0, 1)),
        step_(spatial(p.window.stride, 0, 1)),
        pad_(spatial(p.window.pad, 0, 0)),
        cost_(static_cast<double>(p.result.size() * kernel_[0] * kernel_[1] * kernel_[2]) * 4) {
    if (p.moving.data) moving_.emplace(p.moving);
  }

  void forward() const {
    for_windows([this](int64_t n, int64_t c, const Stand& w, T& result) { result = value_of(data_.plane(n, c), w); });
  }

  void tangent() const {
    for_windows([this](int64_t n, int64_t c, const Stand& w, T& result) {
      const T* change = moving_->plane(n, c);
      double sum = 0;
      for_slopes(data_.plane(n, c), w, [&](const Triple& x, double slope) {
        sum += slope * static_cast<double>(change[moving_->offset(x)]);
      });
      result = static_cast<T>(sum);
    });
  }

  // Gradients are summed in double, one plane at a time.
  void backward() const {
    parallel_for(data_.first * data_.second, 1, cost_, [&](int64_t begin, int64_t end) {
      std::vector<double> sums(static_cast<size_t>(data_.count()));
      for (int64_t index = begin; index < end; ++index) {
        const int64_t n = index / data_.second, c = index % data_.second;
        std::fill(sums.begin(), sums.end(), 0.0);
        for (int64_t at = 0; at < result_.count(); ++at) {
          const Triple y = result_.position(at);
          const auto head = static_cast<double>(result_.plane(n, c)[result_.offset(y)]);
          for_slopes(data_.plane(n, c), stand_at(y), [&](const Triple& x, double slope) {
            sums[static_cast<size_t>((x[0] * data_.extent[1] + x[1]) * data_.extent[2] + x[2])] += slope * head;
          });
        }
        for (int64_t at = 0; at < data_.count(); ++at)
          moving_->plane(n, c)[moving_->offset(moving_->position(at))] = static_cast<T>(sums[static_cast<size_t>(at)]);
      }
    });
  }

 private:
  // The largest of nothing: the least finite number.
  static T least() noexcept {
    if constexpr (std::is_same_v<T, Float16>)
      return static_cast<T>(-65504.0f);
    else if constexpr (std::is_same_v<T, Bfloat16>)
      return static_cast<T>(-0x1.fep127f);
    else
      return std::numeric_limits<T>::lowest();
  }
  // Where a window stands: its elements [begin, end) inside data, and how many an average counts.
  struct Stand {
    Triple begin, end;
    int64_t counted;
  };

  Stand stand_at(const Triple& y) const noexcept {
    Stand w{{}, {}, 1};
    int64_t with_padding = 1, inside = 1;
    for (size_t k = 0; k < 3; ++k) {
      const int64_t first = y[k] * step_[k] - pad_[k];
      const int64_t last = std::min(first + kernel_[k], data_.extent[k] + pad_[k]);
      w.begin[k] = std::max<int64_t>(first, 0);
      w.end[k] = std::min(last, data_.extent[k]);
      with_padding *= last - first;
      inside *= std::max<int64_t>(0, w.end[k] - w.begin[k]);
    }
    w.counted = std::max<int64_t>(1, window_.counts_padding ? with_padding : inside);
    return w;
  }

  template <class Body>
  void for_windows(Body&& body) const {
    parallel_for(result_.first * result_.second, 1, cost_, [&](int64_t begin, int64_t end) {
      for (int64_t index = begin; index < end; ++index) {
        const int64_t n = index / result_.second, c = index % result_.second;
        for (int64_t at = 0; at < result_.count(); ++at) {
          const Triple y = result_.position(at);
          body(n, c, stand_at(y), result_.plane(n, c)[result_.offset(y)]);
        }
      }
    });
  }
  template <class Body>
  void for_elements(const Stand& w, Body&& body) const {
    Triple x;
    for (x[0] = w.begin[0]; x[0] < w.end[0]; ++x[0])
      for (x[1] = w.begin[1]; x[1] < w.end[1]; ++x[1])
        for (x[2] = w.begin[2]; x[2] < w.end[2]; ++x[2]) body(x);
  }

  static double power(double x, int64_t p) noexcept { return p == 0 ? 1 : (p == 1 ? x : (p == 2 ? x * x : x * x * x)); }
  double norm(const T* plane, const Stand& w) const {
    double sum = 0;
    for_elements(w, [&](const Triple& x) { sum += power(static_cast<double>(plane[data_.offset(x)]), window_.p); });
    return window_.p == 1 ? sum : (window_.p == 2 ? std::sqrt(sum) : std::cbrt(sum));
  }
  // The first of the largest; whether there is any.
  bool largest(const T* plane, const Stand& w, Triple& at) const {
    bool found = false;
    T best{};
    for_elements(w, [&](const Triple& x) {
      const T value = plane[data_.offset(x)];
      if (found && !(value > best) && best == best) return;
      best = value;
      at = x;
      found = true;
    });
    return found;
  }

  T value_of(const T* plane, const Stand& w) const {
    Triple at;
    if (window_.kind == PoolKind::kMax) return largest(plane, w, at) ? plane[data_.offset(at)] : least();
    if (window_.kind == PoolKind::kNorm) return static_cast<T>(norm(plane, w));
    Sum sum = 0;
    for_elements(w, [&](const Triple& x) { sum += static_cast<Sum>(plane[data_.offset(x)]); });
    return static_cast<T>(window_.kind == PoolKind::kSum ? sum : sum / static_cast<Sum>(w.counted));
  }

  // Calls body(x, slope) for the elements whose change changes the result.
  template <class Body>
  void for_slopes(const T* plane, const Stand& w, Body&& body) const {
    Triple at;
    if (window_.kind == PoolKind::kMax) {
      if (largest(plane, w, at)) body(at, 1.0);
      return;
    }
    if (window_.kind != PoolKind::kNorm) {
      const double slope = window_.kind == PoolKind::kSum ? 1 : 1 / static_cast<double>(w.counted);
      return for_elements(w, [&](const Triple& x) { body(x, slope); });
    }
    const double whole = norm(plane, w);
    if (whole == 0) return;
    for_elements(w, [&](const Triple& x) {
      body(x, power(static_cast<double>(plane[data_.offset(x)]) / whole, window_.p - 1));
    });
  }

  const PoolWindow& window_;
  Grid<T> data_, result_;
  std::optional<Grid<T>> moving_;
  Triple kernel_, step_, pad_;
  double cost_;
};

template <class Run>
void with_type(const PoolingProblem& problem, Run&& run) {
  dispatch(problem.data.dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) run(Plain<T>(problem));
  });
}

}  // namespace

void plain_pooling(const PoolingProblem& problem) {
  with_type(problem, [](const auto& plain) { plain.forward(); });
}
void plain_pooling_back(const PoolingProblem& problem) {
  with_type(problem, [](const auto& plain) { plain.backward(); });
}
void plain_pooling_tangent(const PoolingProblem& problem) {
  with_type(problem, [](const auto& plain) { plain.tangent(); });
}

}  // namespace headrace
