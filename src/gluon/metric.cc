#include "headrace/metric.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/check.h"
#include "op/invoke.h"

namespace headrace::metric {

void Accuracy::update(const NDArray& labels, const NDArray& preds) {
  check(labels && preds, ErrorKind::kType, "Accuracy: the {} are none; give arrays", labels ? "predictions" : "labels");
  NDArray classes = preds.ndim() > labels.ndim() ? call("argmax", {preds}, {{"axis", int64_t{1}}}) : preds;
  check(classes.size() == labels.size(), ErrorKind::kValue, "Accuracy: labels have shape {}, but predictions {}",
        to_string(labels.shape()), to_string(preds.shape()));
  auto expected = cast_to(labels, DType::kInt64).to_vector<int64_t>();
  auto found = cast_to(classes, DType::kInt64).to_vector<int64_t>();
  right_ += std::transform_reduce(expected.begin(), expected.end(), found.begin(), int64_t{0}, std::plus<>(),
                                  std::equal_to<>());
  seen_ += labels.size();
}

std::pair<std::string, double> Accuracy::get() const {
  return {"accuracy", seen_ ? static_cast<double>(right_) / static_cast<double>(seen_) : kNan};
}

}  // namespace headrace::metric
