#include "ops/convolution/plain_convolution.h"

#include "backend/cpu/parallel.h"
#include "base/dtype_dispatch.h"
#include "ops/convolution/plain_grid.h"

namespace headrace {
namespace {

template <class T>
class Plain {
 public:
  explicit Plain(const ConvolutionProblem& p)
      : p_(p),
        data_(p.data),
        weight_(p.weight),
        out_(p.out),
        step_(spatial(p.window.stride, 0, 1)),
        dilate_(spatial(p.window.dilate, 0, 1)),
        pad_(spatial(p.window.pad, 0, 0)),
        filters_(weight_.first / p.window.groups),
        bias_(static_cast<T*>(p.bias)),
        cost_(convolution_cost(DType::kInt32, p.weight.shape, p.out.shape)) {}

  void run() const {
    if (p_.pass == ConvolutionPass::kForward)
      for_planes(out_, [this](int64_t n, int64_t o) { forward(n, o); });
    else if (p_.pass == ConvolutionPass::kData)
      for_planes(data_, [this](int64_t n, int64_t c) { to_data(n, c); });
    else
      for_planes(weight_, [this](int64_t o, int64_t i) { to_weight(o, i); });
    if (p_.pass == ConvolutionPass::kWeight && bias_) sum_channels(out_, bias_);
  }

 private:
  template <class Body>
  void for_planes(const Grid<T>& grid, Body&& body) const {
    parallel_for(grid.first * grid.second, 1, cost_, [&](int64_t begin, int64_t end) {
      for (int64_t index = begin; index < end; ++index) body(index / grid.second, index % grid.second);
    });
  }
  // Calls body(tap, x) for the window's elements `tap` that lie on an element x of data, the window standing at y.
  template <class Body>
  void for_taps(const Triple& y, Body&& body) const {
    Triple tap, x;
    const auto meets = [&](size_t axis) {
      x[axis] = y[axis] * step_[axis] - pad_[axis] + tap[axis] * dilate_[axis];
      return x[axis] >= 0 && x[axis] < data_.extent[axis];
    };
    for (tap[0] = 0; tap[0] < weight_.extent[0]; ++tap[0]) {
      if (!meets(0)) continue;
      for (tap[1] = 0; tap[1] < weight_.extent[1]; ++tap[1]) {
        if (!meets(1)) continue;
        for (tap[2] = 0; tap[2] < weight_.extent[2]; ++tap[2])
          if (meets(2)) body(tap, x);
      }
    }
  }
  // Calls body(tap, y) for the window's elements and positions y at which they lie on x.
  template <class Body>
  void for_windows(const Triple& x, Body&& body) const {
    Triple tap, y;
    const auto meets = [&](size_t axis) {
      const int64_t from = x[axis] + pad_[axis] - tap[axis] * dilate_[axis];
      y[axis] = from / step_[axis];
      return from >= 0 && from % step_[axis] == 0 && y[axis] < out_.extent[axis];
    };
    for (tap[0] = 0; tap[0] < weight_.extent[0]; ++tap[0]) {
      if (!meets(0)) continue;
      for (tap[1] = 0; tap[1] < weight_.extent[1]; ++tap[1]) {
        if (!meets(1)) continue;
        for (tap[2] = 0; tap[2] < weight_.extent[2]; ++tap[2])
          if (meets(2)) body(tap, y);
      }
    }
  }

  using Sum = double;
  static Sum wide(T value) { return static_cast<Sum>(value); }

  void forward(int64_t n, int64_t o) const {
    const int64_t first = o / filters_ * weight_.second;
    for (int64_t index = 0; index < out_.count(); ++index) {
      const Triple y = out_.position(index);
      Sum sum = bias_ ? wide(bias_[o]) : 0;
      for_taps(y, [&](const Triple& tap, const Triple& x) {
        const T* from = data_.plane(n, first) + data_.offset(x);
        const T* factor = weight_.plane(o, 0) + weight_.offset(tap);
        for (int64_t i = 0; i < weight_.second; ++i)
          sum += wide(from[i * data_.second_stride]) * wide(factor[i * weight_.second_stride]);
      });
      out_.plane(n, o)[out_.offset(y)] = static_cast<T>(sum);
    }
  }

  void to_data(int64_t n, int64_t c) const {
    const int64_t first = c / weight_.second * filters_;
    for (int64_t index = 0; index < data_.count(); ++index) {
      const Triple x = data_.position(index);
      Sum sum = bias_ ? wide(bias_[c]) : 0;
      for_windows(x, [&](const Triple& tap, const Triple& y) {
        const T* from = out_.plane(n, first) + out_.offset(y);
        const T* factor = weight_.plane(first, c % weight_.second) + weight_.offset(tap);
        for (int64_t o = 0; o < filters_; ++o)
          sum += wide(from[o * out_.second_stride]) * wide(factor[o * weight_.first_stride]);
      });
      data_.plane(n, c)[data_.offset(x)] = static_cast<T>(sum);
    }
  }

  void to_weight(int64_t o, int64_t i) const {
    const int64_t channel = o / filters_ * weight_.second + i;
    std::vector<Sum> sums(static_cast<size_t>(weight_.count()));
    for (int64_t n = 0; n < out_.first; ++n)
      for (int64_t index = 0; index < out_.count(); ++index) {
        const Triple y = out_.position(index);
        const Sum factor = wide(out_.plane(n, o)[out_.offset(y)]);
        const T* from = data_.plane(n, channel);
        for_taps(y, [&](const Triple& tap, const Triple& x) {
          const int64_t at = (tap[0] * weight_.extent[1] + tap[1]) * weight_.extent[2] + tap[2];
          sums[static_cast<size_t>(at)] += wide(from[data_.offset(x)]) * factor;
        });
      }
    for (int64_t k = 0; k < weight_.count(); ++k)
      weight_.plane(o, i)[weight_.offset(weight_.position(k))] = static_cast<T>(sums[static_cast<size_t>(k)]);
  }

  const ConvolutionProblem& p_;
  Grid<T> data_, weight_, out_;
  Triple step_, dilate_, pad_;
  int64_t filters_;  // per group
  T* bias_;
  double cost_;
};

}  // namespace

void plain_convolution(const ConvolutionProblem& problem) {
  dispatch(problem.dtype(), [&]<class T>() {
    if constexpr (!std::is_integral_v<T>) Plain<T>(problem).run();
  });
}

}  // namespace headrace
