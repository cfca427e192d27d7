// Attributes of take and of its gradient, which Embedding shares.
#pragma once

#include <string>

#include "op/attrs.h"

namespace headrace {

struct TakeAttrs {
  int64_t axis = 0;
  std::string mode = "clip";
  static constexpr auto kFields = fields(
      field(&TakeAttrs::axis, "axis", "Axis that the indices count along; negative counts from the end."),
      field(&TakeAttrs::mode, "mode", "Indices out of range: clip to the ends, wrap around, or raise IndexError.")
          .one_of("raise|wrap|clip"));
};

struct BackwardTakeAttrs {
  int64_t axis = 0;
  std::string mode = "clip";
  Shape shape;
  bool sparse = false;
  static constexpr auto kFields =
      fields(field(&BackwardTakeAttrs::axis, "axis", "Axis that the indices count along."),
             field(&BackwardTakeAttrs::mode, "mode", "Treatment of indices out of range.").one_of("raise|wrap|clip"),
             field(&BackwardTakeAttrs::shape, "shape", "Shape of the result.").required(),
             field(&BackwardTakeAttrs::sparse, "sparse",
                   "Whether the result may be row_sparse: of the rows that were taken, every index being in range."));
};

}  // namespace headrace
