// Quantization: what an operator says of its place in quantized graphs, all that graph/quantize.h knows about it. A
// part of its OpDef; immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "op/attr_function.h"
#include "op/op_def.h"

namespace headrace {

struct Quantization {
  // --- of an operator on floats -------------------------------------------------------------------------------------

  // The registered name of the operator that takes its place, with the same attributes; empty: none does. Its inputs
  // are those of this one and then, for each that is quantized, the two ends of its range; its results one array and
  // the two ends of its range.
  std::string becomes = {};
  std::vector<std::pair<const char*, const char*>> attributes = {};  // further ones, as texts
  // With which attributes it does; none: with all.
  AttrFunction<bool(const Attrs&)> where = {};
  // Whether it is worth the way from floats and back. Others are quantized in mode `smart` only where they lie between
  // two that are.
  bool is_worthwhile = false;
  // Whether an input, of so many, stays floats, and has no range.
  AttrFunction<bool(const Attrs&, size_t input, size_t count)> keeps_input = {};
  bool shifts_data = false;         // input 0 is quantized with scale and shift, which take the place of the ends
  bool has_rowwise_weight = false;  // input 1, where it is a parameter, may have ranges by row: attribute rowwise
  // Attribute of the operator in its place that makes it take all but input 0 as floats, and give each row of its
  // weight a range itself; null: none.
  const char* own_rows_attribute = nullptr;
  bool has_float_results = false;  // of the operator in its place: floats, and no ranges
  // Attribute of the operator in its place that asks for one result of floats, where nobody wants bytes; null: none.
  const char* float_attribute = nullptr;

  // --- of an operator on quantized arrays ---------------------------------------------------------------------------

  bool makes_sums = false;  // its result is int32, to be brought back to bytes
  // Whose range its attributes min_calib_range and max_calib_range may say: nothing's, that of input 0 or of result 0.
  enum class Calibrated : uint8_t { kNothing, kInput, kResult } calibrated = Calibrated::kNothing;
  // Whether an input of which nothing else is known holds int8, as weights do.
  AttrFunction<bool(const Attrs&, size_t)> holds_int8 = {};
};

// For OpDef::quantization.
inline std::shared_ptr<const Quantization> quantization(Quantization q) {
  return std::make_shared<const Quantization>(std::move(q));
}

}  // namespace headrace
