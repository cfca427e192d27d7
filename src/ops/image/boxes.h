// The label of an image with objects in it: a header, and for each object its class, a box and what else belongs to it.
// As numbers: how many the header has, itself the first of them; how many each object has, 5 or more; what else the
// header holds; then for each object the class, left, top, right and bottom as shares of the image, and the rest.
#pragma once

#include <span>
#include <vector>

namespace headrace {

// A part of an image, as shares of it; more than the image where a border was added.
struct Region {
  float x = 0, y = 0, width = 0, height = 0;

  float right() const noexcept { return x + width; }
  float bottom() const noexcept { return y + height; }
  float area() const noexcept { return width * height; }
};

// What a part must have in common with one object at least, and which objects stay.
struct CropRule {
  float min_overlap = 0, max_overlap = 1;  // intersection over union
  float min_sample = 0, max_sample = 1;    // intersection over the part
  float min_object = 0, max_object = 1;    // intersection over the object
  bool by_center = true;                   // objects stay whose centre is in the part
  float least_overlap = 0;                 // otherwise: of which more than this share is
};

class BoxLabel {
 public:
  // Leaves objects without an area out. Raises Error(kRuntime) for numbers that are no such label.
  explicit BoxLabel(std::span<const float> numbers);

  std::vector<float> numbers() const;

  // The image is now this part of what it was.
  void project(const Region& part);
  void mirror();
  // Projects the objects that stay; false, with nothing changed, where the rule is not kept or none would stay. A label
  // without objects keeps every rule.
  bool crop(const Region& part, const CropRule& rule);

 private:
  struct Object {
    float left, top, right, bottom;
    std::vector<float> numbers;  // all of them, with the box as it was

    Region region() const noexcept { return {left, top, right - left, bottom - top}; }
  };

  static bool is_kept(const Region& part, const Region& object, const CropRule& rule) noexcept;

  std::vector<float> header_;
  std::vector<Object> objects_;
};

}  // namespace headrace
