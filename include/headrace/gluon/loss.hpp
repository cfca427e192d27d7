// Losses. Each gives one value per sample, shape (n,): the mean over all axes but the first.
#pragma once

#include "headrace/ndarray.hpp"

namespace headrace::gluon::loss {

// Cross-entropy of the softmax over `axis`. Labels are class numbers, clipped to those that exist, or (`sparse_label`
// false) probabilities in the shape of the predictions. `from_logits`: predictions are log-probabilities already.
struct SoftmaxCrossEntropyLoss {
  int64_t axis = -1;
  bool sparse_label = true;
  bool from_logits = false;
  NDArray operator()(const NDArray& pred, const NDArray& label) const;
};

// (label - pred)^2 / 2. RuntimeError unless both have the same number of elements.
struct L2Loss {
  NDArray operator()(const NDArray& pred, const NDArray& label) const;
};

// |label - pred|; errors as for L2Loss.
struct L1Loss {
  NDArray operator()(const NDArray& pred, const NDArray& label) const;
};

}  // namespace headrace::gluon::loss
