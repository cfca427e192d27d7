// fft and ifft along the last axis; complex numbers are pairs of neighbours there.

#include "ops/signal/fourier_transform.h"

#include <cmath>

#include "backend/cpu/parallel.h"
#include "op/expect.h"
#include "op/formula/transfer.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"

namespace headrace {
namespace {

struct FourierAttrs {
  int64_t compute_size = 128;
  static constexpr auto kFields =
      fields(field(&FourierAttrs::compute_size, "compute_size", "Of no effect: all rows are done at once."));
};

double cost_of(int64_t size, int64_t length) {
  return 100 + static_cast<double>(size) * 10 * std::log2(static_cast<double>(length) + 2);
}

void infer_fourier(Infer& i, bool inverse) {
  expect_floats(i, 0);
  Shape shape = i.shape(0);
  i.require(!shape.empty() && (!inverse || shape.back() % 2 == 0), ErrorKind::kRuntime, "{} are needed, got shape {}",
            inverse ? "pairs of real and imaginary part along the last axis" : "numbers along an axis",
            to_string(shape));
  shape.back() = inverse ? shape.back() / 2 : shape.back() * 2;
  i.output(shape, i.dtype(0));
  i.cost(cost_of(i.size(0), shape.back()));
}

// Rows of one number for each element on the real side, of two on the other.
void transform(KernelContext& c, bool inverse) {
  const Tensor &in = c.input(0), &out = c.output(0);
  if (in.size == 0) return;
  const int64_t length = inverse ? out.shape.back() : in.shape.back(),
                rows = std::max(in.size, out.size) / (2 * length);
  const int64_t in_width = inverse ? 2 * length : length, out_width = inverse ? length : 2 * length;
  const FourierPlan plan(length);
  const Load load = load_function(in.dtype, ComputeType::kFloat64);
  const Store store = store_function(ComputeType::kFloat64, out.dtype);
  parallel_for(rows, 1, cost_of(in.size, length), [&](int64_t begin, int64_t end) {
    std::vector<double> row(static_cast<size_t>(2 * length));
    std::vector<FourierPlan::Complex> numbers(static_cast<size_t>(length));
    for (int64_t r = begin; r < end; ++r) {
      load(row.data(), in.as<char>() + static_cast<size_t>(r * in_width) * item_size(in.dtype), 1, in_width);
      for (size_t k = 0; k < numbers.size(); ++k)
        numbers[k] = inverse ? FourierPlan::Complex(row[2 * k], row[2 * k + 1]) : row[k];
      plan.run(numbers.data(), inverse);
      for (size_t k = 0; k < numbers.size(); ++k) {
        if (inverse) {
          row[k] = numbers[k].real();
        } else {
          row[2 * k] = numbers[k].real();
          row[2 * k + 1] = numbers[k].imag();
        }
      }
      store(row.data(), out.as<char>() + static_cast<size_t>(r * out_width) * item_size(out.dtype), 1, out_width);
    }
  });
}

// Each is the other's gradient: neither is scaled.
OpDef fourier(const char* name, const char* doc, bool inverse, std::vector<Sample> samples) {
  const char* gradient = inverse ? "_contrib_fft" : "_contrib_ifft";
  return general<FourierAttrs>(
      {.name = std::string("_contrib_") + name,
       .python = {std::string("nd.contrib.") + name},
       .doc = doc,
       .infer = [inverse](Infer& i, const FourierAttrs&) { infer_fourier(i, inverse); },
       .kernel = [inverse](KernelContext& c, const FourierAttrs&) { transform(c, inverse); },
       .gradient = [gradient](Gradient& g, const FourierAttrs&) { g.set(0, call(gradient, {g.head()})); },
       .saves_inputs = kNothing,
       .samples = std::move(samples)});
}

}  // namespace

Operators fourier_operators() {
  return {fourier("fft",
                  "Fourier transforms of real numbers along the last axis, as pairs of real and imaginary part: (..., "
                  "n) gives (..., 2 n). Raises TypeError for data that are not floats.",
                  false, {uniform({2, 6}), uniform({3, 1}), uniform({1, 37})}),
          fourier("ifft",
                  "The real parts of inverse Fourier transforms of pairs of real and imaginary part along the last "
                  "axis, not divided by n: (..., 2 n) gives (..., n). Raises TypeError for data that are not floats, "
                  "MXNetError for an odd extent.",
                  true, {uniform({2, 12}), uniform({3, 2})})};
}

}  // namespace headrace
