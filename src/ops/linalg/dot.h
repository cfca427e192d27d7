// Attributes of nd.dot, the product that other operators and gradients are made of.
#pragma once

#include <optional>
#include <string>

#include "op/attrs.h"

namespace headrace {

struct DotAttrs {
  bool transpose_a = false, transpose_b = false;
  std::optional<std::string> forward_stype = {};
  static constexpr auto kFields = fields(
      field(&DotAttrs::transpose_a, "transpose_a", "Whether the first axis of lhs is contracted, not its last."),
      field(&DotAttrs::transpose_b, "transpose_b", "Whether the last axis of rhs is contracted, not its first."),
      field(&DotAttrs::forward_stype, "forward_stype", "How the result of csr arrays is stored; None: as it comes.")
          .one_of("default|row_sparse|csr"));
};

}  // namespace headrace
