// The sum of many arrays in few passes over memory.

#include <array>

#include "op/formula/transfer.h"
#include "op/formula_part.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/pointwise.h"
#include "op/rule.h"
#include "ops/sparse/row_forms.h"

namespace headrace {
namespace {

constexpr size_t kAtOnce = 8;  // arrays that one pass reads

// x0 + x1 + ... of 1 to kAtOnce arrays, by their number.
struct Sums {
  std::array<Pointwise, kAtOnce + 1> of;
  Sums() {
    Expr sum = input(0);
    for (size_t n = 1; n <= kAtOnce; ++n) {
      of[n].formula = {static_cast<int>(n), 0, {sum}};
      sum = sum + input(static_cast<int>(n));
    }
  }
};

struct CountAttrs {
  int64_t num_args = 0;
  static constexpr auto kFields =
      fields(field(&CountAttrs::num_args, "num_args", "How many arrays there are.").counts_inputs());
};

void add_kernel(KernelContext& c, const CountAttrs&) {
  static const Sums& sums = *new Sums;
  const Tensor& output = c.output(0);
  ComputeType compute = compute_type_of(output.dtype);
  Shape line{output.size};
  const int64_t step = 1;
  Operand result{output.data, output.dtype, &step};
  for (size_t done = 0; done < c.input_count();) {
    std::vector<Operand> operands;
    if (done > 0) operands.push_back(result);
    while (operands.size() < kAtOnce && done < c.input_count())
      operands.push_back({c.input(done).data, c.input(done).dtype, &step}), ++done;
    compute_formula(c, sums.of[operands.size()], compute, line, operands, {&result, 1});
  }
}

OpDef add_n() {
  return general<CountAttrs>(
      {.name = "add_n",
       .aliases = {"ElementWiseSum"},
       .python = {"nd.add_n", "nd.ElementWiseSum", "npx.add_n"},
       .doc = "Sum of all arrays, which have one shape and one dtype; of row_sparse arrays row_sparse. Raises "
              "ValueError when they differ or there are "
              "none.",
       .inputs = {"args"},
       .variadic = true,
       .complete = [](Completion& c, const CountAttrs&) { c.set_all_equal(); },
       .infer =
           [](Infer& infer, const CountAttrs&) {
             infer.require(infer.input_count() > 0, ErrorKind::kValue, "at least one array is needed");
             for (size_t i = 1; i < infer.input_count(); ++i) {
               infer.require(infer.shape(i) == infer.shape(0), ErrorKind::kValue,
                             "array {} has shape {}, but the first has {}", i, to_string(infer.shape(i)),
                             to_string(infer.shape(0)));
               infer.require(infer.dtype(i) == infer.dtype(0), ErrorKind::kType,
                             "array {} holds {}, but the first holds {}; convert one with astype", i,
                             dtype_name(infer.dtype(i)), dtype_name(infer.dtype(0)));
             }
             infer.output(infer.shape(0), infer.dtype(0));
           },
       .kernel = add_kernel,
       .storage_forms = added_row_forms(),
       .gradient =
           [](Gradient& g, const CountAttrs&) {
             for (size_t i = 0; i < g.input_count(); ++i)
               if (g.wants(i)) g.set(i, g.head());
           },
       .saves_inputs = kNothing,
       .samples = {Sample({uniform({2, 3}), uniform({2, 3}), uniform({2, 3})}),
                   Sample(std::vector<SampleArray>(9, uniform({4})))}});
}

}  // namespace

Operators add_n_operators() {
  Operators operators;
  operators.push_back(add_n());
  return operators;
}

}  // namespace headrace
