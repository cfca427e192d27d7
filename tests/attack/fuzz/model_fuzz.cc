// A network as it is exported, a symbol and the values of its parameters: src/gluon/symbol_block.cc. An input is the
// symbol file, a zero byte, and the parameter file.
#include "headrace/gluon/symbol_block.hpp"

#include "ndarray/serialize.h"
#include "op/invoke.h"
#include "tests/attack/fuzz/fuzz.h"

namespace headrace::fuzz {
namespace {

void run(const std::string& symbol_file, const std::string& param_file, bool lenient) {
  auto block = gluon::SymbolBlock::imports(symbol_file, {"data"}, param_file, lenient, lenient);
  for (const NDArray& output : block(std::vector{full({2, 3}, 0.5, DType::kFloat32, {})})) output.wait_to_read();
}

}  // namespace

std::vector<std::string> seeds() {
  Symbol y = Symbol::apply("FullyConnected", "fc", {Symbol::variable("data")}, {{"num_hidden", "4"}});
  y = Symbol::apply("BatchNorm", "bn", {y})[0];
  std::vector<std::string> names;
  std::vector<NDArray> values;
  for (const char* name :
       {"arg:fc_weight", "arg:fc_bias", "arg:bn_gamma", "arg:bn_beta", "aux:bn_moving_mean", "aux:bn_moving_var"}) {
    names.emplace_back(name);
    values.push_back(full(values.empty() ? Shape{4, 3} : Shape{4}, 1, DType::kFloat32, {}));
  }
  const auto save = [&] {
    return y.to_json() + '\0' + written([&](const std::string& path) { save_arrays(path, values, names, false); });
  };
  std::vector<std::string> result{save()};
  names.resize(1);
  values.resize(1);
  result.push_back(save());
  return result;
}

}  // namespace headrace::fuzz

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input = fuzz::text_of(data, size);
  const size_t end = std::min(input.find('\0'), input.size());
  const fuzz::File symbol(input.substr(0, end)), params(input.substr(std::min(end + 1, input.size())));
  for (bool lenient : {false, true}) fuzz::accepts([&] { fuzz::run(symbol.path(), params.path(), lenient); });
  return 0;
}
