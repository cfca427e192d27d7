#include "op/spelling.h"

namespace headrace {

Spelling placed(Spelling call, const std::optional<DType>& dtype, const std::optional<std::string>& ctx) {
  if (dtype) call.attrs.emplace_back("dtype", *dtype);
  if (ctx) call.attrs.emplace_back("ctx", *ctx);
  return call;
}

}  // namespace headrace
