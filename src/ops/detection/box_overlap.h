// How much two boxes overlap, and where one is relative to another. Read by the compilers of host and device.
#pragma once

#include <cmath>
#include <cstdint>

namespace headrace {

// kPixels: corners of which each is a pixel that belongs to the box.
enum class BoxFormat : uint8_t { kCorner, kCenter, kPixels };

// What a side is longer than the difference of its ends.
template <class T>
constexpr T longer_by(BoxFormat format) {
  return format == BoxFormat::kPixels ? T{1} : T{0};
}

// What two boxes share of the axis of their first and third number.
template <class T>
inline T shared_side(const T* a, const T* b, BoxFormat format) {
  const bool corner = format != BoxFormat::kCenter;
  const T a_low = corner ? a[0] : a[0] - a[2] / 2, a_high = corner ? a[2] : a[0] + a[2] / 2;
  const T b_low = corner ? b[0] : b[0] - b[2] / 2, b_high = corner ? b[2] : b[0] + b[2] / 2;
  const T high = b_high < a_high ? b_high : a_high, low = a_low < b_low ? b_low : a_low;
  const T side = high - low + longer_by<T>(format);
  return side > 0 ? side : T{0};
}

template <class T>
inline T shared_area(const T* a, const T* b, BoxFormat format) {
  return shared_side(a, b, format) * shared_side(a + 1, b + 1, format);
}

// 0 of a box that is turned inside out.
template <class T>
inline T box_area(const T* box, BoxFormat format) {
  const bool center = format == BoxFormat::kCenter;
  const T width = center ? box[2] : box[2] - box[0] + longer_by<T>(format);
  const T height = center ? box[3] : box[3] - box[1] + longer_by<T>(format);
  return width < 0 || height < 0 ? T{0} : width * height;
}

// What two boxes share, divided by what they cover together, their areas being known.
template <class T>
inline T overlap(const T* a, T area, const T* b, T other_area, BoxFormat format) {
  const T both = shared_area(a, b, format);
  return both > 0 ? both / (area + other_area - both) : T{0};
}

template <class T>
inline T overlap(const T* a, const T* b, BoxFormat format) {
  return overlap(a, box_area(a, format), b, box_area(b, format), format);
}

// One axis of a box: its middle and its size.
template <class T>
struct Side {
  T place, size;
};

// Of the axis of the first and third of four corners.
template <class T>
inline Side<T> side_of(const T* corners) {
  return {(corners[0] + corners[2]) / 2, corners[2] - corners[0]};
}

// Of the axis of the first and third of four numbers, as MXNet computes it where boxes become what networks learn.
template <class T>
inline Side<T> side_by_format(const T* box, BoxFormat format) {
  if (format == BoxFormat::kCenter) return {box[0], box[2]};
  const T size = box[2] - box[0];
  return {box[0] + size * T{0.5}, size};
}

// What networks learn of a box: how far it is from an anchor, in the anchor's sizes, and the logarithm of how much
// larger it is.
template <class T>
inline Side<T> relative(const Side<T>& box, const Side<T>& anchor) {
  return {(box.place - anchor.place) / anchor.size, std::log(box.size / anchor.size)};
}

// The way back.
template <class T>
inline Side<T> absolute(const Side<T>& learned, const Side<T>& anchor) {
  return {learned.place * anchor.size + anchor.place, std::exp(learned.size) * anchor.size};
}

// Of the axis of the first and third number: what box_decode makes of x and an anchor. A `clip` that is positive bounds
// the logarithm of the size.
template <class T>
inline void decode_side(const T* x, const T* anchor, BoxFormat format, T place_factor, T size_factor, double clip,
                        T* out) {
  T grown = x[2] * size_factor;
  if (clip > 0 && static_cast<T>(clip) < grown) grown = static_cast<T>(clip);
  const Side<T> box = absolute<T>({x[0] * place_factor, grown}, side_by_format(anchor, format));
  out[0] = box.place - box.size * T{0.5};
  out[2] = box.place + box.size * T{0.5};
}

}  // namespace headrace
