// Random integers, permutations, choices and candidates. Results are int64 where nothing else is said.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"

namespace headrace {

// Integers of any dtype, uniform in [low, low + range).
extern const KernelPartOf<void(KernelContext& context, int64_t low, uint64_t range, const Tensor& output)>
    draw_integers;
// 0, 1, 2 ... in random order.
extern const KernelPartOf<void(KernelContext& context, const Tensor& order)> draw_order;
// Uniform in [0, choices); of the second all different.
extern const KernelPartOf<void(KernelContext& context, int64_t choices, const Tensor& indices)> draw_indices;
extern const KernelPartOf<void(KernelContext& context, int64_t choices, const Tensor& indices)> draw_different;
// Places in `weights`, as likely as these say; all different unless they are replaced. Raises ValueError for negative
// weights, or too few that are positive.
extern const KernelPartOf<void(KernelContext& context, const Tensor& weights, bool replace, const Tensor& indices)>
    draw_by_weights;
// Raises ValueError where weights are refused: some are negative, none is positive, or fewer than are wanted.
void check_weights(const char* name, bool are_weights, int64_t positive, int64_t wanted);
// outputs: for each row different classes below range_max, and how many draws they took
extern const KernelPartOf<void(KernelContext& context, int64_t range_max)> draw_candidates;

}  // namespace headrace
