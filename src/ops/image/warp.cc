// Images under affine maps, as OpenCV computes them: places to a 32nd of a pixel, weights to 15 bits.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "ops/image/picture.h"
#include "ops/image/weights.h"

namespace headrace {
namespace {

constexpr int kPlaceBits = 5, kPlaces = 1 << kPlaceBits;  // of a pixel
constexpr int kStepBits = 10;                             // behind the point of what places are added up from
constexpr int kWeightBits = 15, kOne = 1 << kWeightBits;

// From places in the result to places in the image; where the map has no inverse, to the beginning.
struct Inverse {
  double a, b, c, d, e, f;
};

Inverse inverse_of(const AffineMap& map) {
  const double a = map.a, b = map.b, d = map.d, e = map.e;
  const double determinant = a * e - b * d, factor = determinant != 0 ? 1 / determinant : 0;
  Inverse to{e * factor, b * -factor, 0, d * -factor, a * factor, 0};
  to.c = -to.a * double{map.c} - to.b * double{map.f};
  to.f = -to.d * double{map.c} - to.e * double{map.f};
  return to;
}

// Weights of count * count neighbours for each of kPlaces * kPlaces places within a pixel, those of a place together.
// They add up to one: what rounding leaves goes to a weight of the middle.
std::vector<int> weight_table(int count) {
  std::array<std::array<float, kMostTaps>, kPlaces> along;
  for (int i = 0; i < kPlaces; ++i)
    tap_weights(count, static_cast<float>(i) / kPlaces, along[static_cast<size_t>(i)].data());
  const auto taps = static_cast<size_t>(count), middle = taps / 2;
  std::vector<int> all;
  all.reserve(kPlaces * kPlaces * taps * taps);
  for (const auto& down : along)
    for (const auto& across : along) {
      const size_t begin = all.size();
      int sum = 0;
      for (size_t i = 0; i < taps; ++i)
        for (size_t k = 0; k < taps; ++k) {
          all.push_back(static_cast<int>(std::clamp(std::lrint(down[i] * across[k] * kOne), -32768L, 32767L)));
          sum += all.back();
        }
      if (sum == kOne || count == 2) continue;  // of two neighbours, what is missing would not change a byte
      size_t least = begin + middle * taps + middle, most = least;
      for (size_t i = middle; i < middle + 2; ++i)
        for (size_t k = middle; k < middle + 2; ++k) {
          const size_t at = begin + i * taps + k;
          if (all[at] < all[least]) least = at;
          if (all[at] > all[most]) most = at;
        }
      all[sum < kOne ? most : least] += kOne - sum;
    }
  return all;
}

// The image and how it is read at any place.
struct WarpSource {
  const Picture& image;
  int count;
  std::vector<int> weights;
  unsigned char outside;

  // The pixel whose first neighbours are at `row` and `column`, with the weights of its place.
  void read(int64_t row, int64_t column, const int* weight, unsigned char* to) const {
    const int64_t channels = image.channels;
    const bool is_inside = row >= 0 && column >= 0 && row + count <= image.height && column + count <= image.width;
    if (!is_inside && (row >= image.height || row + count <= 0 || column >= image.width || column + count <= 0)) {
      std::fill_n(to, channels, outside);
      return;
    }
    for (int64_t c = 0; c < channels; ++c) {
      int sum = 0;
      for (int64_t i = 0; i < count; ++i)
        for (int64_t k = 0; k < count; ++k) {
          const int64_t y = row + i, x = column + k;
          const bool has = is_inside || (y >= 0 && y < image.height && x >= 0 && x < image.width);
          const int value = has ? image.pixels[static_cast<size_t>((y * image.width + x) * channels + c)] : outside;
          sum += value * weight[i * count + k];
        }
      to[c] = static_cast<unsigned char>(std::clamp((sum + kOne / 2) >> kWeightBits, 0, 255));
    }
  }
};

// Bounded, so that sums cannot overflow.
int64_t fixed(double place) {
  constexpr double kMost = 2147483647;
  return std::isnan(place) ? 0 : std::lrint(std::clamp(place * (1 << kStepBits), -kMost - 1, kMost));
}

}  // namespace

void warp(Picture& image, const AffineMap& map, int64_t height, int64_t width, Interpolation interpolation,
          unsigned char outside) {
  check_target(image, height, width);
  const Inverse to = inverse_of(map);
  const int count = tap_count(interpolation);
  const WarpSource source{image, count, weight_table(count), outside};
  constexpr int64_t kRounding = 1 << (kStepBits - kPlaceBits - 1);
  const auto to_pixel_and_place = [](int64_t step) {
    const int64_t place = step >> (kStepBits - kPlaceBits);
    return std::pair(std::clamp<int64_t>(place >> kPlaceBits, INT16_MIN, INT16_MAX), place & (kPlaces - 1));
  };
  Picture made{height, width, image.channels, {}};
  made.pixels.resize(static_cast<size_t>(height * width * image.channels));
  unsigned char* at = made.pixels.data();
  for (int64_t y = 0; y < height; ++y) {
    const auto row = static_cast<double>(y);
    const int64_t begin_x = fixed(to.b * row + to.c) + kRounding, begin_y = fixed(to.e * row + to.f) + kRounding;
    for (int64_t x = 0; x < width; ++x, at += image.channels) {
      const auto column = static_cast<double>(x);
      const auto [from_x, place_x] = to_pixel_and_place(begin_x + fixed(to.a * column));
      const auto [from_y, place_y] = to_pixel_and_place(begin_y + fixed(to.d * column));
      const int* weight = source.weights.data() + (place_y * kPlaces + place_x) * count * count;
      source.read(from_y - (count / 2 - 1), from_x - (count / 2 - 1), weight, at);
    }
  }
  image = std::move(made);
}

}  // namespace headrace
