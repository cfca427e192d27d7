// Passes over lowered graphs. Each lies in a file of its own in passes/ and leaves the results bit for bit as they
// are, unless it says otherwise.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/lower.h"

namespace headrace {

class CompiledGraph;
class Expr;

// Drops steps whose results nobody needs. Steps that change an input stay.
void drop_dead_code(Lowered& graph);
// Computes once what several steps compute from the same values.
void merge_common_subexpressions(Lowered& graph);
// Computes now what depends on constants alone.
void fold_constants(Lowered& graph);
// Views of one of the arrays that Concat has joined become views of that array.
void look_through_joins(Lowered& graph);
// All of the above.
void optimize(Lowered& graph);

// Lets batch normalisations apply the relu that follows them, and their gradients the relu's.
void fuse_batch_norms(Lowered& graph);
// Lets convolutions do the normalisation, sum and activation that follow them; only for graphs without gradients.
// Results may differ by rounding.
void fuse_convolutions(Lowered& graph);
// Makes one product of a sum of products, as the gradient of a weight is one that many steps of a sequence use. Results
// may differ by rounding. Comes before fuse(), which takes the additions.
void join_products(Lowered& graph);

// Makes one pass over memory of pointwise steps over the same elements. `kept`: values that are read after the run.
void fuse(Lowered& graph, std::span<const int> kept = {});
// Moves pointwise steps just before and just after reductions, and just after dense layers, into them. Comes after
// fuse(), whose groups it takes.
void fuse_prologues(Lowered& graph, std::span<const int> kept = {});

// Lets the backward part of a graph compute again, just before they are read, values of the part for the first
// `output_count` outputs that are cheap and whose operands are kept until then anyway. Comes before split(); steps that
// are the same are not merged after it.
void recompute(Lowered& whole, size_t output_count);

// Whether a step has one result, that of this formula: the same work has several names.
bool computes(const Step& step, const Expr& formula);

// The part of `whole` that computes `outputs` from `inputs` and constants, with new numbers.
struct Extract {
  Lowered graph;
  std::vector<int> new_id;  // of each value of the whole; -1 where it is not there
};
Extract extract(const Lowered& whole, const std::vector<uint8_t>& wanted_steps, std::span<const int> inputs,
                std::span<const int> outputs);

// Of each step of a graph with gradients whether it belongs to the forward half: the first `output_count` outputs need
// it, or it changes an input.
std::vector<uint8_t> forward_steps(const Lowered& whole, size_t output_count);

// A graph with gradients, cut in two: its first `input_count` inputs and `output_count` outputs are the forward half's.
// The backward half reads the other inputs (gradients of the outputs), then what it needs of the forward half: inputs,
// outputs, and computed values.
struct Halves {
  Lowered forward, backward;
  std::vector<size_t> from_inputs, from_outputs;
  std::vector<int> kept;  // values of `forward`
};
Halves split(const Lowered& whole, size_t input_count, size_t output_count);

// What a compiled graph does, for people: its steps, what was fused, memory, estimated time.
std::string explain_graph(const CompiledGraph& compiled);

}  // namespace headrace
