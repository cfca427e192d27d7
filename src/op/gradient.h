// What an operator's gradient is given.
#pragma once

#include <span>

#include "headrace/ndarray.hpp"
#include "op/op_def.h"

namespace headrace {

// One backward step of an operator, written with operators: it may itself be recorded, which gives higher derivatives.
class Gradient {
 public:
  Gradient(const Node& node, std::span<const NDArray> inputs, std::span<const NDArray> outputs,
           std::span<const NDArray> heads, std::span<NDArray> results, std::span<const NDArray> targets,
           std::span<const uint8_t> wanted, bool is_last) noexcept
      : node_(node),
        inputs_(inputs),
        outputs_(outputs),
        heads_(heads),
        results_(results),
        targets_(targets),
        wanted_(wanted),
        is_last_(is_last) {}

  const OpDef& op() const noexcept;
  const AttrsPtr& attrs() const noexcept;
  size_t input_count() const noexcept { return inputs_.size(); }
  // Saved arrays; of those not named in saves_*, only shape and dtype may be used.
  const NDArray& input(size_t i) const noexcept { return inputs_[i]; }
  const NDArray& output(size_t i = 0) const noexcept { return outputs_[i]; }
  // Gradient of the result with respect to output i. None where nothing reached that output.
  const NDArray& head(size_t i = 0) const noexcept { return heads_[i]; }
  bool has_head(size_t i) const noexcept { return static_cast<bool>(heads_[i]); }
  // Whether anybody asks for the gradient of input i.
  bool wants(size_t i) const noexcept;
  // Whether the graph is freed behind this step: what only the step keeps may be overwritten.
  bool is_last() const noexcept { return is_last_; }
  void set(size_t i, NDArray gradient) { results_[i] = std::move(gradient); }
  // The buffer where the caller would like to have the gradient of input i; none: anywhere.
  const NDArray& target(size_t i) const noexcept { return targets_[i]; }
  // Sets the gradients of input i and those after it to the outputs of `op`, computed in place where the caller has
  // buffers for them.
  void set(size_t i, const OpDef& op, AttrsPtr attrs, std::span<const NDArray> inputs);

 private:
  const Node& node_;
  std::span<const NDArray> inputs_, outputs_, heads_;
  std::span<NDArray> results_;
  std::span<const NDArray> targets_;
  std::span<const uint8_t> wanted_;
  bool is_last_;
};

}  // namespace headrace
