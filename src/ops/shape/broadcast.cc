// Operators that repeat elements along axes.

#include "op/invoke.h"
#include "ops/families.h"
#include "ops/shape/geometry.h"

namespace headrace {
namespace {

struct ShapeAttrs {
  Shape shape;
  static constexpr auto kFields = fields(field(&ShapeAttrs::shape, "shape", "The shape to broadcast to.").required());
};

template <class A>
void sum_back(Gradient& g, const A&) {
  g.set(0, sum_to_shape(g.head(), g.input(0).shape()));
}

void check_broadcast(const char* name, const Shape& from, const Shape& to) {
  bool fits = from.size() <= to.size();
  for (size_t i = 0; fits && i < from.size(); ++i) {
    int64_t target = to[to.size() - from.size() + i];
    fits = target >= 0 && (from[i] == 1 || from[i] == target);
  }
  check(fits, ErrorKind::kValue, "{}: shape {} cannot be broadcast to {}; extents must be equal or 1", name,
        to_string(from), to_string(to));
}

bool broadcast_rule(const char* name, const Geometry& in, Geometry& out, const ShapeAttrs& a) {
  check_broadcast(name, in.shape, a.shape);
  out = broadcast(in, a.shape);
  return true;
}

OpDef broadcast_shape() {
  return view_operator<ShapeAttrs>(
      {.name = "_broadcast_shape",
       .doc = "The array repeated to a shape, as a view with zero strides: read-only.",
       .gradient = sum_back<ShapeAttrs>},
      broadcast_rule);
}

}  // namespace

std::vector<OpDef> broadcast_operators() { return {broadcast_shape()}; }

}  // namespace headrace
