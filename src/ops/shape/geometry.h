// How shape operators see arrays: new shape and strides over the same elements. Pure functions; any thread.
#pragma once

#include <functional>

#include "op/copy_part.h"
#include "op/kernel.h"
#include "op/op_def.h"
#include "op/rule.h"

namespace headrace {

// Row-major geometry of a fresh array.
Geometry packed_geometry(const Shape& shape);

// `in` under a shape of as many elements. False where strides cannot express it (a transposed array flattened).
bool reshaped(const Geometry& in, const Shape& shape, Geometry& out);

// Axis k of the result is axis axes[k] of `in`; axes are normalised and distinct.
Geometry permuted(const Geometry& in, const Shape& axes);

// `in` repeated along axes of extent 1 and along new leading axes, with stride 0. The shapes fit.
Geometry broadcast(const Geometry& in, const Shape& shape);

// Elements begin, begin + step, ... (`count` of them) along `axis`.
Geometry sliced(const Geometry& in, int64_t axis, int64_t begin, int64_t step, int64_t count);

// All axes in reverse order, as transpose() has it.
Shape reversed_axes(size_t ndim);
// The permutation that undoes `axes`.
Shape inverse_axes(const Shape& axes);
// Normalised axes, each once; raises ValueError naming the operation.
Shape normalize_axes(const Shape& axes, size_t ndim, const char* operation);

// What a shape operator is: a rule from the geometry of its input to that of its result. The rule raises what is wrong
// with the call. It answers false only where the result has the elements of the input in the same row-major order but
// not as a view; then the elements are copied.
template <class A>
using ViewRule = bool (*)(const char* operation, const Geometry& in, Geometry& out, const A& attrs);

// Writes the elements that `geometry` (of `from`) selects to `to`, row-major.
void copy_viewed(KernelContext& context, const Tensor& from, const Geometry& geometry, const Tensor& to);
void copy_in_order(KernelContext& context, const Tensor& from, const Tensor& to);

// An operator that follows `rule`: a view of its input. With `copies` it makes a new array instead.
template <class A>
OpDef view_operator(OpDef g, ViewRule<A> rule, bool copies = false) {
  std::string name = g.shown_name();
  g.infer = [rule](Infer& i, const A& a) {
    Geometry out;
    rule(i.name(), packed_geometry(i.shape(0)), out, a);
    i.output(out.shape, i.dtype(0));
  };
  g.kernel = [rule](KernelContext& c, const A& a) {
    const Tensor& from = c.input(0);
    Geometry out;
    if (rule(c.name(), {from.shape, from.strides, 0}, out, a))
      copy_viewed(c, from, out, c.output(0));
    else
      copy_in_order(c, from, c.output(0));
  };
  if (!copies)
    g.as_view = [rule, name](const Geometry& in, Geometry& out, const A& a) { return rule(name.c_str(), in, out, a); };
  g.strided_inputs = true;
  g.saves_inputs = kNothing;
  return general<A>(std::move(g));
}

}  // namespace headrace
