// Uniforms, normals and trials in bulk: what most programs draw. Runs on the thread of a task.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "ops/random/generator.h"

namespace headrace {

// values[i] = offset + factor * v with v uniform in [0, 1). `Real` is float or double.
template <class Real>
void fill_uniform(const KernelContext& context, Streams streams, Real* values, int64_t n, Real offset = 0,
                  Real factor = 1);

// values[i] = offset + factor * v with v normal, of mean 0 and standard deviation 1.
template <class Real>
void fill_normal(const KernelContext& context, Streams streams, Real* values, int64_t n, Real offset = 0,
                 Real factor = 1);

enum class VariateKind : uint8_t { kUniform, kNormal };  // on [0, 1), or of mean 0 and standard deviation 1

struct Variates {
  VariateKind kind;
  Streams streams;
  bool in_double;  // they are drawn in; otherwise in float
  double offset, factor;
};
// What fill_uniform and fill_normal draw, cast to what the output holds.
extern const KernelPartOf<void(KernelContext& context, const Variates& variates, const Tensor& output)> draw_variates;
// flags[i] = 1 where a uniform number in [0, 1) is below `bound`, else 0. Draws from Streams::kParallel. `in_double`:
// of MXNet's numbers each is a double, which takes two words, rounded to a float.
extern const KernelPartOf<void(KernelContext& context, const Tensor& flags, float bound, bool in_double)> draw_flags;

}  // namespace headrace
