// What update formulas share. An update operator takes (weight, gradient, states ...) and gives the new weight; its
// states are written in place. Frontends write the result into the weight: `out=weight`.
#pragma once

#include "op/pointwise.h"
#include "ops/optimizer/row_update.h"

namespace headrace {

inline constexpr char kLrDoc[] = "Learning rate.";
inline constexpr char kWdDoc[] = "Weight decay: added to the gradient as wd * weight.";
inline constexpr char kRescaleDoc[] = "Factor of the gradient, usually one over the batch size.";
inline constexpr char kClipDoc[] = "Bound of the absolute gradient; negative: none.";
inline constexpr char kLazyDoc[] = "Whether rows that a row_sparse gradient does not store stay as they are.";

// x moved into [-bound, bound] where the bound is not negative.
inline Expr clipped(Expr x, Expr bound) { return select(bound >= 0, min(max(x, -bound), bound), x); }

// A spec with everything but the formula. Results after the first go into `state_inputs`.
inline PointwiseSpec update_spec(std::string name, const char* doc, std::vector<std::string> inputs,
                                 std::vector<uint32_t> state_inputs) {
  std::vector<StorageForm> forms = row_update_forms(inputs.size());
  std::vector<SampleArray> arrays(inputs.size(), uniform({2, 3}, 0.5, 1.5));
  std::string path = name[0] == '_' ? "nd.contrib." + name.substr(1) : "nd." + name;
  return {.op = {.name = std::move(name),
                 .python = {std::move(path)},
                 .doc = std::string(doc) +
                        "\n\nGives the new weight; states are changed in place. All arrays have one shape. "
                        "Raises MXNetError when they do not.",
                 .inputs = std::move(inputs),
                 .storage_forms = std::move(forms),
                 .samples = {Sample(std::move(arrays))}},
          .differentiable = false,
          .dtypes = dtype_rules::like_first,
          .equal_shapes = true,
          .state_inputs = std::move(state_inputs)};
}

}  // namespace headrace
