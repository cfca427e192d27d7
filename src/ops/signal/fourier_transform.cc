#include "ops/signal/fourier_transform.h"

#include <algorithm>
#include <numbers>

namespace headrace {
namespace {

constexpr int64_t kLargestFactor = 31;  // the work for a factor p is p multiplications for each element

// exp(-2 pi i k / n) without the loss of large angles.
std::complex<double> root(int64_t k, int64_t n) {
  const double angle = -2 * std::numbers::pi * static_cast<double>(k % n) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

std::vector<int64_t> prime_factors(int64_t n) {
  std::vector<int64_t> factors;
  for (int64_t p = 2; p * p <= n; ++p)
    for (; n % p == 0; n /= p) factors.push_back(p);
  if (n > 1) factors.push_back(n);
  return factors;
}

}  // namespace

FourierPlan::FourierPlan(int64_t length) : length_(length), factors_(prime_factors(length)) {
  if (factors_.empty() || factors_.back() <= kLargestFactor) {
    for (int64_t k = 0; k < length; ++k) roots_.push_back(root(k, length));
    return;
  }
  int64_t power = 1;
  while (power < 2 * length) power *= 2;
  longer_ = std::make_unique<FourierPlan>(power);
  chirp_transform_.resize(static_cast<size_t>(power));
  for (int64_t k = 0; k < length; ++k) {
    chirp_.push_back(root(k * k % (2 * length), 2 * length));
    chirp_transform_[static_cast<size_t>(k)] = std::conj(chirp_.back());
    if (k > 0) chirp_transform_[static_cast<size_t>(power - k)] = std::conj(chirp_.back());
  }
  longer_->run(chirp_transform_.data(), false);
}

FourierPlan::~FourierPlan() = default;

void FourierPlan::run(Complex* data, bool inverse) const {
  const auto conjugate = [&] {
    if (inverse) std::transform(data, data + length_, data, [](Complex x) { return std::conj(x); });
  };
  conjugate();
  if (longer_) {
    by_convolution(data);
  } else if (length_ > 1) {
    std::vector<Complex> input(data, data + length_), spare(static_cast<size_t>(factors_.back()));
    by_factors(input.data(), 1, data, length_, 0, spare.data());
  }
  conjugate();
}

// The transform of n elements `stride` apart: p transforms of n / p elements, put together by ones of p.
void FourierPlan::by_factors(const Complex* from, int64_t stride, Complex* to, int64_t n, size_t factor,
                             Complex* spare) const {
  if (n == 1) {
    *to = *from;
    return;
  }
  const int64_t p = factors_[factor], m = n / p;
  for (int64_t q = 0; q < p; ++q) by_factors(from + q * stride, stride * p, to + q * m, m, factor + 1, spare);
  for (int64_t k = 0; k < m; ++k) {
    for (int64_t q = 0; q < p; ++q) spare[q] = to[q * m + k] * roots_[static_cast<size_t>(stride * q * k)];
    for (int64_t r = 0; r < p; ++r) {
      Complex sum = spare[0];
      for (int64_t q = 1; q < p; ++q) sum += spare[q] * roots_[static_cast<size_t>(q * r % p * (length_ / p))];
      to[r * m + k] = sum;
    }
  }
}

// Bluestein: jk = (j^2 + k^2 - (k - j)^2) / 2.
void FourierPlan::by_convolution(Complex* data) const {
  std::vector<Complex> padded(chirp_transform_.size());
  const auto n = static_cast<size_t>(length_);
  for (size_t k = 0; k < n; ++k) padded[k] = data[k] * chirp_[k];
  longer_->run(padded.data(), false);
  for (size_t k = 0; k < padded.size(); ++k) padded[k] *= chirp_transform_[k];
  longer_->run(padded.data(), true);
  const double scale = 1 / static_cast<double>(padded.size());
  for (size_t k = 0; k < n; ++k) data[k] = padded[k] * chirp_[k] * scale;
}

}  // namespace headrace
