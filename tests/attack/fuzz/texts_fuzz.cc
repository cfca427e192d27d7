// Short texts: numbers of bytes, devices, dtypes, shapes, and the values of environment variables.
#include <cstdlib>

#include "base/bytes.h"
#include "base/config.h"
#include "headrace/device.hpp"
#include "headrace/dtype.hpp"
#include "op/attrs.h"
#include "tests/attack/fuzz/fuzz.h"

namespace headrace::fuzz {

std::vector<std::string> seeds() {
  return {"160MB",
          "1.5 GiB",
          "0",
          "8388607TiB",
          "gpu(1)",
          "cpu",
          "cpu_pinned(0)",
          "float32",
          "int8",
          "(2, 3)",
          "[2,None,3]",
          "(4,)",
          "()",
          "7L",
          "threaded",
          "debug",
          "-1",
          "NaiveEngine",
          "virtual",
          std::string(2000, '9'),
          "1." + std::string(2000, '5') + "GB"};
}

}  // namespace headrace::fuzz

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(fuzz::text_of(data, size));
  fuzz::accepts([&] {
    const int64_t bytes = parse_bytes(text, "fuzz");
    fuzz::expect(bytes >= 0 && bytes <= kMostBytes, "a number of bytes out of range");
  });
  fuzz::accepts([&] { parse_device(text); });
  fuzz::accepts(
      [&] { fuzz::expect(parse_dtype(dtype_name(parse_dtype(text))) == parse_dtype(text), "a dtype changes"); });
  fuzz::accepts([&] {
    if (const std::optional<Shape> shape = shape_from_text(text))
      fuzz::expect(shape_from_text(std::string(to_string(*shape))) == shape, "a shape changes when it is written");
  });
  for (const ConfigVariable& variable : config_variables()) {
    setenv(variable.name, text.c_str(), 1);
    fuzz::accepts([] { parse_config(); });
    unsetenv(variable.name);
  }
  return 0;
}
