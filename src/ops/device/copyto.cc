// Copies between devices, as far as gradients go.
#include "base/check.h"
#include "op/invoke.h"
#include "ops/families.h"

namespace headrace {
namespace {

struct CopyToAttrs {
  std::string ctx, source;
  static constexpr auto kFields =
      fields(field(&CopyToAttrs::ctx, "ctx", "Where the copy is made, as \"gpu(0)\".").required(),
             field(&CopyToAttrs::source, "source", "Where the input is; the gradient goes there.").required());
};

}  // namespace

std::vector<OpDef> device_operators() {
  using A = CopyToAttrs;
  return {general<A>(
      {.name = "_copyto",
       .doc = "The same values on another device. In a compiled graph, which runs on one device, the input itself.",
       .inputs = {"data"},
       .compose = [](std::span<const NDArray> in, const A& a) -> std::vector<NDArray> {
         return {copied_to(in[0], parse_device(a.ctx))};
       },
       .gradient =
           [](Gradient& g, const A& a) {
             g.set(0, call("_copyto", {g.head(0)}, {{"ctx", a.source}, {"source", a.ctx}}));
           },
       .samples = {Sample({uniform({2, 3})}, make_attrs(A{.ctx = "cpu(1)", .source = "cpu(0)"}))}})};
}

}  // namespace headrace
