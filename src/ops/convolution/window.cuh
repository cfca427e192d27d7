// Windows that go over images of up to three spatial axes, the missing ones in front, of extent 1.
#pragma once

#include <cstdint>

namespace headrace::device {

struct WindowGeometry {
  int64_t data[3], out[3], kernel[3], step[3], dilate[3], pad[3];  // data, out: extents
};

// Strides of an array of images, in elements.
struct ImageStrides {
  int64_t first, channel, place[3];
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
namespace headrace::device {

struct Place {
  int64_t at[3];
};

inline Place place_of(int64_t index, const int64_t* extents) {
  return {{index / extents[2] / extents[1], index / extents[2] % extents[1], index % extents[2]}};
}

inline int64_t offset_of(const Place& place, const int64_t* strides) {
  return place.at[0] * strides[0] + place.at[1] * strides[1] + place.at[2] * strides[2];
}

inline int64_t count_of(const int64_t* extents) { return extents[0] * extents[1] * extents[2]; }

}  // namespace headrace::device
#endif
