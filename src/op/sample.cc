#include "op/sample.h"

#include <utility>

namespace headrace {

SampleArray uniform(Shape shape, double low, double high, DType dtype) {
  return {std::move(shape), dtype, low, high, {}};
}

SampleArray values(std::vector<double> list, DType dtype) {
  Shape shape{static_cast<int64_t>(list.size())};
  return {std::move(shape), dtype, 0, 0, std::move(list)};
}

SampleArray integers(Shape shape, int64_t low, int64_t high, DType dtype) {
  return {std::move(shape), dtype, static_cast<double>(low), static_cast<double>(high), {}};
}

Sample::Sample(SampleArray one) { inputs.push_back(std::move(one)); }
Sample::Sample(std::vector<SampleArray> all, AttrsPtr a) : inputs(std::move(all)), attrs(std::move(a)) {}
Sample::Sample(const Sample&) = default;
Sample::Sample(Sample&&) noexcept = default;
Sample& Sample::operator=(const Sample&) = default;
Sample& Sample::operator=(Sample&&) noexcept = default;
Sample::~Sample() = default;

}  // namespace headrace
