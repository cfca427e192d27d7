// Draws from categories, whose probabilities lie along the last axis of an array.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"

namespace headrace {

// input: probabilities (..., categories); outputs: as many draws for each row, perhaps also their log likelihood
extern const KernelPartOf<void(KernelContext& context)> draw_categories;
// inputs: the gradient of log likelihoods, probabilities, draws; output: the gradient of the probabilities
extern const KernelPartOf<void(KernelContext& context)> category_gradients;
// input: probabilities; output: how often each came up in n experiments, for each of as many draws
extern const KernelPartOf<void(KernelContext& context, int64_t n)> count_categories;

// Raise ValueError: probabilities are at least 0, and together at most 1.
void check_probability(const char* name, double p);
void check_total(const char* name, double sum);
inline int64_t last_axis(const Tensor& p) { return static_cast<int64_t>(p.shape.size()) - 1; }

}  // namespace headrace
