// Metrics: running figures of how well predictions fit labels. Every update waits for the arrays that it is given.
#pragma once

#include <string>
#include <utility>

#include "headrace/ndarray.hpp"

namespace headrace::metric {

// Share of predictions that are right.
class Accuracy {
 public:
  // Labels are class numbers; predictions too, or scores with one more axis, the classes on axis 1. ValueError: the
  // numbers of labels and predictions differ.
  void update(const NDArray& labels, const NDArray& preds);
  // Name and value; NaN before the first update.
  std::pair<std::string, double> get() const;
  void reset() noexcept { right_ = seen_ = 0; }

 private:
  int64_t right_ = 0, seen_ = 0;
};

}  // namespace headrace::metric
