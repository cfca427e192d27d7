// The discrete Fourier transform of any length. A plan is immutable; any thread may run it.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

namespace headrace {

class FourierPlan {
 public:
  using Complex = std::complex<double>;

  explicit FourierPlan(int64_t length);
  ~FourierPlan();
  int64_t length() const noexcept { return length_; }
  // data[k] becomes the sum over j of data[j] exp(-2 pi i j k / n), not scaled; with `inverse` the sign is the other.
  void run(Complex* data, bool inverse) const;

 private:
  void by_factors(const Complex* from, int64_t stride, Complex* to, int64_t n, size_t factor, Complex* spare) const;
  void by_convolution(Complex* data) const;

  int64_t length_;
  std::vector<int64_t> factors_;
  std::vector<Complex> roots_;  // exp(-2 pi i k / n)
  // Of lengths with a large prime factor: the transform as a convolution with a chirp, of a power of two.
  std::unique_ptr<FourierPlan> longer_;
  std::vector<Complex> chirp_, chirp_transform_;
};

}  // namespace headrace
