#include "op/rule.h"

#include <algorithm>

#include "base/check.h"

namespace headrace {

const char* Infer::name() const noexcept { return op_.shown_name(); }

void Infer::output(const Shape& shape, DType dtype) { output(shape, dtype, contiguous_strides(shape)); }

void Infer::output(const Shape& shape, DType dtype, const Strides& strides) {
  outputs_.push_back({shape, dtype, strides});
}

void Infer::fail_named(ErrorKind kind, fmt::string_view text, fmt::format_args args) const {
  fail(kind, "{}: {}", name(), fmt::vformat(text, args));
}

bool Completion::is_known(size_t i) const noexcept {
  return i < shapes_.size() && shapes_[i] && std::ranges::find(*shapes_[i], -1) == shapes_[i]->end();
}

void Completion::fill(Shapes shapes, size_t i, const Shape& shape) const {
  if (i >= shapes.size()) return;
  check(std::ranges::all_of(shape, [](int64_t extent) { return extent >= -1; }), ErrorKind::kValue,
        "{}: shape {} has a negative extent", name_, to_string(shape));
  std::optional<Shape>& known = shapes[i];
  bool fits = !known || known->size() == shape.size();
  if (known && fits)
    for (size_t k = 0; k < shape.size(); ++k) fits &= (*known)[k] == -1 || shape[k] == -1 || (*known)[k] == shape[k];
  check(fits, ErrorKind::kRuntime, "{}: Shape inconsistent, Provided = {}, inferred shape={}", name_,
        known ? to_string(*known) : to_string(shape), to_string(shape));
  if (!known) known = shape;
  for (size_t k = 0; k < shape.size(); ++k)
    if ((*known)[k] == -1) (*known)[k] = shape[k];
}

void Completion::set(size_t i, const Shape& shape) { fill(shapes_, i, shape); }
void Completion::set_output(size_t i, const Shape& shape) { fill(outputs_, i, shape); }

void Completion::set_all_equal() {
  std::optional<Shape> common;
  const auto gather = [&](const std::optional<Shape>& one) {
    if (one) fill({&common, 1}, 0, *one);
  };
  std::ranges::for_each(shapes_, gather);
  std::ranges::for_each(outputs_.first(std::min<size_t>(outputs_.size(), 1)), gather);
  if (!common) return;
  for (size_t i = 0; i < shapes_.size(); ++i) set(i, *common);
  set_output(0, *common);
}

void Completion::set_equal(size_t i, size_t k) {
  if (has_rank(i)) set_output(k, shape(i));
  if (has_output_rank(k)) set(i, output(k));
}

}  // namespace headrace
