// Which elements of an image belong to a region, read by the compilers of host and device.
#pragma once

#include <cmath>
#include <cstdint>

namespace headrace {

// -1 where there is no such image.
template <class T>
inline int64_t image_of_region(T number, int64_t images) {
  return number > T{-1} && number < static_cast<T>(images) ? static_cast<int64_t>(number) : -1;
}

// The nearest integer, halves away from 0; far away for what is further than any image.
template <class T>
inline int64_t rounded(T x) {
  constexpr T kFar = 1 << 28;
  const T near = x < -kFar ? -kFar : x > kFar ? kFar : x;
  return x == x ? static_cast<int64_t>(std::round(near)) : 0;
}

// One axis of a region: the first place and the number of places, at least 1.
struct Span {
  int64_t begin, count;
};

template <class T>
inline Span span_of(T low, T high, T scale) {
  const int64_t begin = rounded(low * scale), end = rounded(high * scale);
  return {begin, end < begin ? 1 : end - begin + 1};
}

// The places of cell k of `cells`, cut to the image: [begin, end).
struct Places {
  int64_t begin, end;
};

template <class T>
inline Places places_of(const Span& span, int64_t k, int64_t cells, int64_t extent) {
  const T size = static_cast<T>(span.count) / static_cast<T>(cells);
  const auto cut = [extent](int64_t at) { return at < 0 ? 0 : at > extent ? extent : at; };
  return {cut(static_cast<int64_t>(std::floor(static_cast<T>(k) * size)) + span.begin),
          cut(static_cast<int64_t>(std::ceil(static_cast<T>(k + 1) * size)) + span.begin)};
}

}  // namespace headrace
