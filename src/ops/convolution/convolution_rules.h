// What the rules and gradients of Convolution and Deconvolution share. Caller's thread.
#pragma once

#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/convolution/convolution.h"

namespace headrace {

// Raises unless data has the axes that the window needs.
void require_rank(const char* name, const Window& w, const Shape& data);
// Raises unless data has the axes that the window needs and floats, all arrays are there (`further` after data, weight
// and bias), and all hold one dtype.
void require_inputs(const Infer& i, const Window& w, bool no_bias, size_t further);
// Raises unless input `k` has this shape, given with channels second.
void require_shape(const Infer& i, size_t k, const char* what, const Shape& shape, bool channels_last);

// Shapes with channels second: of a convolution's result, of its weight.
Shape convolved_shape(const Infer& i, const Window& w, const Shape& data, int64_t filters);
Shape weight_shape(const Window& w, int64_t filters, int64_t channels);

// The attributes of Convolution for a window.
ConvolutionAttrs convolution_attrs(const Window& w, int64_t filters, const Layout& layout);
// The same for an operator that gives gradients; `out` is what flows into the result.
AttrsPtr gradient_attrs(const Window& w, const Layout& layout, const NDArray& out);

// Raises unless the inputs are those of a convolution, which `further` others follow. The shape of its result, with
// channels second.
Shape require_convolution(const Infer& i, const ConvolutionAttrs& a, size_t further);
// The problem that a kernel is given in tensors as the user sees them.
ConvolutionProblem problem_of(ConvolutionPass pass, const Window& w, const Tensor& data, const Tensor& weight,
                              const Tensor& out);
// The rule and kernel of a convolution, likewise.
Shape infer_convolution(Infer& i, const ConvolutionAttrs& a, size_t further);
void run_convolution(KernelContext& c, const ConvolutionAttrs& a, ConvolutionProblem::After after);
void complete_convolution(Completion& c, const ConvolutionAttrs& a);

// The gradient of a convolution's weight, which has `filters` filters: `out` is what flows into the result.
void set_weight_gradient(Gradient& g, const Window& w, const Layout& layout, const NDArray& data, const NDArray& out);
void set_bias_gradient(Gradient& g, const NDArray& head, bool channels_last);

// The transpose of the convolution with respect to its data, of shape `like`.
NDArray transposed_convolution(const NDArray& out, const NDArray& weight, const Window& w, const Layout& layout,
                               const Shape& like);
// The convolution, its result cut to the shape `like` (a transposed convolution may have had more elements at the end
// than its stride).
NDArray cut_convolution(const NDArray& data, const NDArray& weight, const Window& w, const Layout& layout,
                        const Shape& like);

}  // namespace headrace
