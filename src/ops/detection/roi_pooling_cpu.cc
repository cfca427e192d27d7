#include <algorithm>
#include <limits>

#include "backend/cpu/parallel.h"
#include "ops/detection/boxes.h"
#include "ops/detection/regions.h"
#include "ops/detection/roi_pooling.h"

namespace headrace {
namespace {

template <class T>
void pool_region(const RegionShapes& s, const T* data, const T* region, T scale, int64_t r, RealResult<T>& out,
                 int64_t* record) {
  const int64_t image = image_of_region(region[0], s.images);
  const Span columns = span_of(region[1], region[3], scale), rows = span_of(region[2], region[4], scale);
  for (int64_t channel = 0; channel < s.channels; ++channel) {
    const int64_t plane = (image * s.channels + channel) * s.height * s.width;
    for (int64_t cell = 0; cell < s.cells(); ++cell) {
      const int64_t at = (r * s.channels + channel) * s.cells() + cell;
      const auto [top, bottom] = places_of<T>(rows, cell / s.grid_width, s.grid_height, s.height);
      const auto [left, right] = places_of<T>(columns, cell % s.grid_width, s.grid_width, s.width);
      if (image < 0 || bottom <= top || right <= left) {
        out[at] = 0;
        continue;
      }
      for (int64_t y = top; y < bottom; ++y)
        for (int64_t x = left; x < right; ++x)
          if (data[plane + y * s.width + x] > out[at]) {
            out[at] = data[plane + y * s.width + x];
            record[at] = plane + y * s.width + x;
          }
    }
  }
}

template <class T>
void pool_maxima(KernelContext& c, double scale) {
  const RegionShapes s(c.input(0).shape, c.output(0).shape);
  const Reals<T> data(c.input(0)), regions(c.input(1));
  RealResult<T> out(c.output(0), std::numeric_limits<float>::lowest());
  int64_t* record = c.output(1).as<int64_t>();
  std::fill_n(record, c.output(1).size, int64_t{-1});
  parallel_for(s.regions, 1, 4.0 * static_cast<double>(s.regions * s.channels * s.height * s.width),
               [&](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r)
                   pool_region(s, data.at(0), regions.at(r * 5), static_cast<T>(scale), r, out, record);
               });
  out.store();
}

void pool_on_host(KernelContext& c, double scale) {
  with_real(c.output(0).dtype, [&]<class T>() { pool_maxima<T>(c, scale); });
}

void add_on_host(KernelContext& c) {
  with_real(c.output(0).dtype, [&]<class T>() {
    const Reals<T> head(c.input(0));
    RealResult<T> out(c.output(0), 0);
    for (int64_t k = 0; k < c.input(0).size; ++k) {
      const int64_t at = c.input(1).as<int64_t>()[k];
      if (at >= 0 && at < c.output(0).size) out[at] += head[k];
    }
    out.store();
  });
}

}  // namespace

const decltype(pool_regions) pool_regions{"pool_regions", pool_on_host};
const decltype(add_to_recorded) add_to_recorded{"add_to_recorded", add_on_host};

}  // namespace headrace
