// Linear maps of images that act on rows and columns separately.
#pragma once

#include <cstdint>

namespace headrace::device {

// As in ops/image/resample.h.
struct ResampleTap {
  int64_t from;
  double weight;
};

struct ResampleArguments {
  const void* from;
  void* to;
  const int64_t* first_of_rows;
  const ResampleTap* row_taps;
  const int64_t* first_of_columns;
  const ResampleTap* column_taps;
  int64_t in_size, in_width;  // of an image
  int64_t out_height, out_width;
  int64_t count;  // of results
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/grid.cuh"
#include "op/formula/numeric_cast.h"

namespace headrace::device {

// Rows first, as the host does.
template <class Compute, class T>
inline void resample(const ResampleArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads()) {
    const int64_t column = i % a.out_width, row = i / a.out_width % a.out_height;
    const T* const image = static_cast<const T*>(a.from) + i / a.out_width / a.out_height * a.in_size;
    Compute sum = 0;
    for (int64_t k = a.first_of_columns[column]; k < a.first_of_columns[column + 1]; ++k) {
      Compute line = 0;
      for (int64_t r = a.first_of_rows[row]; r < a.first_of_rows[row + 1]; ++r)
        line += static_cast<Compute>(a.row_taps[r].weight) *
                numeric_cast<Compute>(image[a.row_taps[r].from * a.in_width + a.column_taps[k].from]);
      sum += static_cast<Compute>(a.column_taps[k].weight) * line;
    }
    static_cast<T*>(a.to)[i] = numeric_cast<T>(sum);
  }
}

}  // namespace headrace::device
#endif
