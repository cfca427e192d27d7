// Quantization of symbols: graphs on floats become graphs on int8 and uint8, as far as their operators have a form on
// these (op/quantization.h), with operators between that bring numbers from one to the other. Any thread that may read
// the graph.
#pragma once

#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "headrace/symbol.hpp"

namespace headrace {

struct QuantizeOptions {
  std::unordered_set<std::string> excluded_nodes, excluded_operators;  // names of nodes, registered names
  // Variables that come quantized. Variables NAME_quantize, NAME_quantize_min and NAME_quantize_max take their place.
  std::unordered_set<std::string> parameters;
  std::string dtype = "int8";  // of data: "int8", "uint8", or "auto": by what is known of their range
  bool smart = false;          // only what lies on the way between operators that are worth it
  bool rowwise = false;        // weights have a range for each row where their operator can work with it
  bool fuse = false;           // first puts layers together; see with_fused_layers
};

struct QuantizedSymbol {
  Symbol symbol;
  std::vector<std::string> calibrated;  // outputs and variables of the given graph whose ranges it can be told
};

QuantizedSymbol quantize(const Symbol& symbol, const QuantizeOptions& options);

// The graph with convolutions and the normalisation, sum and relu behind them as one operator each, and dense layers
// with their relu, so that numbers are rounded once. Results differ by rounding, and are those of a network that is not
// trained: statistics do not move, and are arguments. The new operators have the names of the last that are in them.
// What has an excluded one among them stays as it is, all of it excluded then.
Symbol with_fused_layers(const Symbol& symbol, QuantizeOptions& options);

// The least and largest value of outputs and variables of the graph before it was quantized.
using Ranges = std::map<std::string, std::pair<float, float>>;
// The same graph with these ranges written down, which it need not find when it runs.
Symbol with_ranges(const Symbol& quantized, const Ranges& ranges);
// An end of a range with six digits behind the point, as MXNet writes it, unless too little is left of the number so.
std::string range_text(float end);

// The text of a variable NAME_quantize whose rows have ranges of their own; its value is "rows".
inline constexpr char kRangesKey[] = "__ranges__";

}  // namespace headrace
