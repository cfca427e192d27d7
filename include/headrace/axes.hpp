// Axes: which axes of its arrays an operator works on. A plain value; any thread.
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>

#include "headrace/shape.hpp"

namespace headrace {

// None, one or several: `.axis = 1`, `.axis = {0, 2}`, `.axis = std::nullopt`. What none means says the operator.
class Axes : public std::optional<Shape> {
 public:
  Axes() noexcept = default;
  Axes(std::nullopt_t) noexcept {}
  Axes(std::integral auto axis) : optional(Shape{static_cast<int64_t>(axis)}) {}
  Axes(std::initializer_list<int64_t> axes) : optional(Shape(axes)) {}
  Axes(Shape axes) : optional(std::move(axes)) {}
};

}  // namespace headrace
