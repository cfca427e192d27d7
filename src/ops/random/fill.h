// Standard uniforms and normals in bulk: what most programs draw. Runs on the thread of a task.
#pragma once

#include "ops/random/generator.h"

namespace headrace {

// values[i] uniform in [0, 1). `Real` is float or double.
template <class Real>
void fill_uniform(const KernelContext& context, Streams streams, Real* values, int64_t n);

// values[i] normal with mean 0 and standard deviation 1.
template <class Real>
void fill_normal(const KernelContext& context, Streams streams, Real* values, int64_t n);

}  // namespace headrace
