#include "ops/image/boxes.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace headrace {
namespace {

constexpr std::ptrdiff_t kBoxEnd = 5;  // among the numbers of an object

// A count that a label states, 0 where it states none that can be.
size_t count_of(float number, size_t most) noexcept {
  return number >= 0 && number <= static_cast<float>(most) ? static_cast<size_t>(number) : 0;
}

float shared_area(const Region& one, const Region& other) noexcept {
  const float width = std::min(one.right(), other.right()) - std::max(one.x, other.x);
  const float height = std::min(one.bottom(), other.bottom()) - std::max(one.y, other.y);
  return width <= 0 || height <= 0 ? 0 : width * height;
}

bool is_within(float value, float least, float most) noexcept { return !(value < least || value > most); }

}  // namespace

BoxLabel::BoxLabel(std::span<const float> numbers) {
  check(numbers.size() >= 7, ErrorKind::kRuntime, "a label of objects has 7 numbers or more, got {}", numbers.size());
  const size_t header = count_of(numbers[0], numbers.size()), width = count_of(numbers[1], numbers.size());
  check(
      header >= 2 && width >= 5 && (numbers.size() - header) % width == 0, ErrorKind::kRuntime,
      "a label of {} numbers cannot have a header of {} and {} numbers for each object; expected 2 or more, 5 or more, "
      "and whole objects behind the header",
      numbers.size(), numbers[0], numbers[1]);
  header_.assign(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(header));
  for (size_t i = header; i < numbers.size(); i += width) {
    const auto object = numbers.subspan(i, width);
    if (object[3] > object[1] && object[4] > object[2])
      objects_.push_back({object[1], object[2], object[3], object[4], {object.begin(), object.end()}});
  }
}

std::vector<float> BoxLabel::numbers() const {
  std::vector<float> all = header_;
  for (const Object& object : objects_) {
    all.push_back(object.numbers[0]);
    all.insert(all.end(), {object.left, object.top, object.right, object.bottom});
    all.insert(all.end(), object.numbers.begin() + kBoxEnd, object.numbers.end());
  }
  return all;
}

void BoxLabel::project(const Region& part) {
  for (Object& object : objects_) {
    object.left = std::max(0.0F, (object.left - part.x) / part.width);
    object.top = std::max(0.0F, (object.top - part.y) / part.height);
    object.right = std::min(1.0F, (object.right - part.x) / part.width);
    object.bottom = std::min(1.0F, (object.bottom - part.y) / part.height);
  }
}

void BoxLabel::mirror() {
  for (Object& object : objects_)
    object = {1 - object.right, object.top, 1 - object.left, object.bottom, object.numbers};
}

bool BoxLabel::is_kept(const Region& part, const Region& object, const CropRule& rule) noexcept {
  const float shared = shared_area(part, object);
  if (rule.min_overlap > 0 || rule.max_overlap < 1) {
    const float overlap = shared <= 0 ? 0 : shared / (part.area() + object.area() - shared);
    if (!is_within(overlap, rule.min_overlap, rule.max_overlap)) return false;
  }
  if ((rule.min_sample > 0 || rule.max_sample < 1) &&
      !is_within(shared / part.area(), rule.min_sample, rule.max_sample))
    return false;
  return (rule.min_object <= 0 && rule.max_object >= 1) ||
         is_within(shared / object.area(), rule.min_object, rule.max_object);
}

bool BoxLabel::crop(const Region& part, const CropRule& rule) {
  if (objects_.empty()) return true;
  if (std::none_of(objects_.begin(), objects_.end(),
                   [&](const Object& object) { return is_kept(part, object.region(), rule); }))
    return false;
  const auto stays = [&](const Object& object) {
    if (!rule.by_center) return shared_area(part, object.region()) / object.region().area() > rule.least_overlap;
    const float x = (object.left + object.right) * 0.5F, y = (object.top + object.bottom) * 0.5F;
    return part.x <= x && x < part.right() && part.y <= y && y < part.bottom();
  };
  std::vector<Object> kept;
  std::copy_if(objects_.begin(), objects_.end(), std::back_inserter(kept), stays);
  if (kept.empty()) return false;
  objects_ = std::move(kept);
  project(part);
  return true;
}

}  // namespace headrace
