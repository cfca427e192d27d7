#include "ops/image/scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <vector>

#include "backend/cpu/parallel.h"
#include "ops/image/weights.h"

namespace headrace {
namespace {

constexpr int kBits = 11;  // behind the point of uint8's weights

// What one element of the result takes along one axis: `count` neighbours from `first` on, the border repeated.
struct Taps {
  int count = 0;
  std::vector<int64_t> first;   // of each result
  std::vector<float> weights;   // count of each result
  std::vector<int> fixed = {};  // the same with kBits behind the point
};

// How many results an element makes, and how many elements a result takes. Where a result begins with an element, what
// rounding leaves of the latter, a quotient of a quotient as in OpenCV, says whether it does.
double growth_of(int64_t size, int64_t out) { return static_cast<double>(out) / static_cast<double>(size); }
double step_of(int64_t size, int64_t out) { return 1 / growth_of(size, out); }

// As area is for enlarging: linear, but each element keeps its value as far as it reaches.
float area_share(int64_t result, int64_t first, double growth) {
  const auto share = static_cast<float>(static_cast<double>(result + 1) - static_cast<double>(first + 1) * growth);
  return share <= 0 ? 0.0f : share - std::floor(share);
}

// Of columns, linear weights at the border are one whole; of rows two that meet there, which rounds otherwise.
Taps taps_of(int64_t size, int64_t out, Interpolation interpolation, bool of_rows) {
  Taps taps;
  taps.count = tap_count(interpolation);
  const double step = step_of(size, out), growth = growth_of(size, out);
  for (int64_t i = 0; i < out; ++i) {
    auto place = static_cast<float>((static_cast<double>(i) + 0.5) * step - 0.5);
    int64_t low;
    if (interpolation == Interpolation::kArea) {
      low = static_cast<int64_t>(std::floor(static_cast<double>(i) * step));
      place = area_share(i, low, growth);
    } else {
      low = static_cast<int64_t>(std::floor(place));
      place -= static_cast<float>(low);
    }
    if (taps.count == 2 && !of_rows && low < 0) low = 0, place = 0;
    if (taps.count == 2 && !of_rows && low >= size - 1) low = size - 1, place = 0;
    float weights[kMostTaps];
    tap_weights(taps.count, place, weights);
    taps.first.push_back(low - taps.count / 2 + 1);
    for (int k = 0; k < taps.count; ++k) {
      taps.weights.push_back(weights[k]);
      taps.fixed.push_back(static_cast<int>(std::lrint(weights[k] * (1 << kBits))));
    }
  }
  return taps;
}

// --- weights of neighbours -------------------------------------------------------------------------------------------

// Of bytes, rows that are resized along themselves have kBits behind the point; where two neighbours count, 4 fewer, so
// that 16 bits hold them.
template <class T, int kCount>
using RowOf = std::conditional_t<std::is_same_v<T, float>, float, std::conditional_t<kCount == 2, int16_t, int>>;

// Where the neighbours of each result lie in a row, the border repeated.
std::vector<int64_t> places_of(const Taps& taps, const ScaledImage& image) {
  std::vector<int64_t> places;
  for (const int64_t first : taps.first)
    for (int k = 0; k < taps.count; ++k)
      places.push_back(std::clamp<int64_t>(first + k, 0, image.width - 1) * image.channels);
  return places;
}

template <class T>
const auto* weights_as(const Taps& taps) noexcept {
  if constexpr (std::is_same_v<T, float>)
    return taps.weights.data();
  else
    return taps.fixed.data();
}

// One row of the image, resized along it. kChannels 0: any number.
template <int kCount, int64_t kChannels, class T, class Row>
void across(const T* row, const ScaledImage& image, const Taps& taps, const int64_t* place, Row* to) {
  const int64_t channels = kChannels == 0 ? image.channels : kChannels;
  const auto* weight = weights_as<T>(taps);
  for (int64_t x = 0; x < image.out_width; ++x, place += kCount, weight += kCount)
    for (int64_t c = 0; c < channels; ++c) {
      std::conditional_t<std::is_same_v<T, float>, float, int> sum = 0;
      for (int k = 0; k < kCount; ++k) sum += row[place[k] + c] * weight[k];
      if constexpr (std::is_same_v<Row, int16_t>) sum >>= 4;
      *to++ = static_cast<Row>(sum);
    }
}

unsigned char to_byte(int value) { return static_cast<unsigned char>(std::clamp(value, 0, 255)); }

// Rows that were resized along themselves, put together into one of the result.
template <int kCount, class Row>
void down(const std::array<const Row*, kMostTaps>& rows, const int* weights, int64_t size, unsigned char* to) {
  if constexpr (kCount == 2) {
    const auto first = static_cast<int16_t>(weights[0]), second = static_cast<int16_t>(weights[1]);
    const Row *low = rows[0], *high = rows[1];
    for (int64_t i = 0; i < size; ++i) {
      const auto one = static_cast<int16_t>(low[i] * first >> 16), other = static_cast<int16_t>(high[i] * second >> 16);
      to[i] = static_cast<unsigned char>(std::clamp<int16_t>(static_cast<int16_t>((one + other + 2) >> 2), 0, 255));
    }
  } else {
    const int64_t in_floats = kCount == 4 ? size - size % 8 : 0;  // as OpenCV's vectors have them, which hold 8
    for (int64_t i = 0; i < in_floats; ++i) {
      float sum = 0;
      for (size_t k = 0; k < kCount; ++k)
        sum += static_cast<float>(rows[k][i]) * (static_cast<float>(weights[k]) * (1.0F / (1 << 2 * kBits)));
      to[i] = to_byte(static_cast<int>(std::lrint(sum)));
    }
    for (int64_t i = in_floats; i < size; ++i) {
      int64_t sum = 0;
      for (size_t k = 0; k < kCount; ++k) sum += int64_t{rows[k][i]} * weights[k];
      to[i] = to_byte(static_cast<int>((sum + (1 << (2 * kBits - 1))) >> 2 * kBits));
    }
  }
}

template <int kCount>
void down(const std::array<const float*, kMostTaps>& rows, const float* weights, int64_t size, float* to) {
  for (int64_t i = 0; i < size; ++i) {
    float sum = 0;
    for (size_t k = 0; k < kCount; ++k) sum += rows[k][i] * weights[k];
    to[i] = sum;
  }
}

template <int kCount, class T>
void interpolate(const T* from, T* to, const ScaledImage& image, Interpolation interpolation) {
  using Row = RowOf<T, kCount>;
  const Taps columns = taps_of(image.width, image.out_width, interpolation, false);
  const Taps rows = taps_of(image.height, image.out_height, interpolation, true);
  const std::vector<int64_t> places = places_of(columns, image);
  const int64_t row = image.width * image.channels, out_row = image.out_width * image.channels;
  const auto along = image.channels == 3   ? across<kCount, 3, T, Row>
                     : image.channels == 1 ? across<kCount, 1, T, Row>
                                           : across<kCount, 0, T, Row>;
  const double cost = static_cast<double>(out_row * image.out_height) * kCount * 0.7;
  parallel_for(image.out_height, 1, cost, [&](int64_t begin, int64_t end) {
    // Resized rows, each in the slot of its number; neighbours never share one.
    std::array<std::vector<Row>, kMostTaps> slots;
    std::array<int64_t, kMostTaps> held;
    held.fill(-1);
    for (int64_t y = begin; y < end; ++y) {
      std::array<const Row*, kMostTaps> needed{};
      for (int k = 0; k < kCount; ++k) {
        const int64_t source = std::clamp<int64_t>(rows.first[static_cast<size_t>(y)] + k, 0, image.height - 1);
        const auto slot = static_cast<size_t>(source % kMostTaps);
        if (held[slot] != source) {
          slots[slot].resize(static_cast<size_t>(out_row));
          along(from + source * row, image, columns, places.data(), slots[slot].data());
          held[slot] = source;
        }
        needed[static_cast<size_t>(k)] = slots[slot].data();
      }
      down<kCount>(needed, weights_as<T>(rows) + y * kCount, out_row, to + y * out_row);
    }
  });
}

// --- nearest and area ------------------------------------------------------------------------------------------------

template <class T>
void take_nearest(const T* from, T* to, const ScaledImage& image) {
  const auto source = [](int64_t i, int64_t size, int64_t out) {
    return std::min(static_cast<int64_t>(std::floor(static_cast<double>(i) * step_of(size, out))), size - 1);
  };
  const double cost = static_cast<double>(image.out_height * image.out_width * image.channels) * 0.5;
  parallel_for(image.out_height, 1, cost, [&](int64_t begin, int64_t end) {
    for (int64_t y = begin; y < end; ++y)
      for (int64_t x = 0; x < image.out_width; ++x) {
        const int64_t row = source(y, image.height, image.out_height), column = source(x, image.width, image.out_width);
        std::copy_n(from + (row * image.width + column) * image.channels, image.channels,
                    to + (y * image.out_width + x) * image.channels);
      }
  });
}

// The elements that a result covers along one axis, with the share of each.
struct Cover {
  int64_t first;
  std::vector<float> shares;
};

std::vector<Cover> covers_of(int64_t size, int64_t out) {
  constexpr double kLeast = 1e-3;
  const double step = step_of(size, out);
  std::vector<Cover> covers;
  for (int64_t i = 0; i < out; ++i) {
    const double begin = static_cast<double>(i) * step, end = begin + step;
    const double width = std::min(step, static_cast<double>(size) - begin);
    auto from = static_cast<int64_t>(std::ceil(begin)), until = static_cast<int64_t>(std::floor(end));
    until = std::min(until, size - 1);
    from = std::min(from, until);
    Cover cover{from, {}};
    if (static_cast<double>(from) - begin > kLeast) {
      cover.first = from - 1;
      cover.shares.push_back(static_cast<float>((static_cast<double>(from) - begin) / width));
    }
    for (int64_t k = from; k < until; ++k) cover.shares.push_back(static_cast<float>(1 / width));
    if (end - static_cast<double>(until) > kLeast)
      cover.shares.push_back(
          static_cast<float>(std::min(std::min(end - static_cast<double>(until), 1.0), width) / width));
    covers.push_back(std::move(cover));
  }
  return covers;
}

template <class T>
T rounded(float value) {
  if constexpr (std::is_same_v<T, unsigned char>)
    return to_byte(static_cast<int>(std::lrint(value)));
  else
    return value;
}

template <class T>
void average(const T* from, T* to, const ScaledImage& image) {
  const std::vector<Cover> rows = covers_of(image.height, image.out_height);
  const std::vector<Cover> columns = covers_of(image.width, image.out_width);
  const int64_t channels = image.channels, out_row = image.out_width * channels;
  parallel_for(image.out_height, 1, static_cast<double>(image.height * image.width * channels) * 1.5,
               [&](int64_t begin, int64_t end) {
                 std::vector<float> sums(static_cast<size_t>(out_row));
                 for (int64_t y = begin; y < end; ++y) {
                   std::ranges::fill(sums, 0.0f);
                   const Cover& cover = rows[static_cast<size_t>(y)];
                   for (size_t r = 0; r < cover.shares.size(); ++r) {
                     const T* const row = from + (cover.first + static_cast<int64_t>(r)) * image.width * channels;
                     for (int64_t x = 0; x < image.out_width; ++x)
                       for (int64_t c = 0; c < channels; ++c) {
                         const Cover& across = columns[static_cast<size_t>(x)];
                         float sum = 0;
                         for (size_t k = 0; k < across.shares.size(); ++k)
                           sum += static_cast<float>(row[(across.first + static_cast<int64_t>(k)) * channels + c]) *
                                  across.shares[k];
                         sums[static_cast<size_t>(x * channels + c)] += sum * cover.shares[r];
                       }
                   }
                   for (int64_t i = 0; i < out_row; ++i) to[y * out_row + i] = rounded<T>(sums[static_cast<size_t>(i)]);
                 }
               });
}

// Both sides by whole numbers: sums are exact, and halves go up where both sides are halved.
void average_blocks(const unsigned char* from, unsigned char* to, const ScaledImage& image) {
  const int64_t high = image.height / image.out_height, wide = image.width / image.out_width;
  const int64_t channels = image.channels, row = image.width * channels, out_row = image.out_width * channels;
  const float share = 1.0f / static_cast<float>(high * wide);
  parallel_for(image.out_height, 1, static_cast<double>(image.height * row), [&](int64_t begin, int64_t end) {
    for (int64_t y = begin; y < end; ++y)
      for (int64_t x = 0; x < image.out_width; ++x)
        for (int64_t c = 0; c < channels; ++c) {
          int sum = 0;
          for (int64_t i = 0; i < high; ++i)
            for (int64_t k = 0; k < wide; ++k) sum += from[(y * high + i) * row + (x * wide + k) * channels + c];
          to[y * out_row + x * channels + c] = high == 2 && wide == 2
                                                   ? to_byte((sum + 2) >> 2)
                                                   : rounded<unsigned char>(static_cast<float>(sum) * share);
        }
  });
}

template <class T>
void scale(const T* from, T* to, const ScaledImage& image, Interpolation interpolation) {
  const bool shrinks = image.out_height <= image.height && image.out_width <= image.width;
  const bool by_whole = shrinks && image.height % image.out_height == 0 && image.width % image.out_width == 0;
  const bool halves = by_whole && image.height == 2 * image.out_height && image.width == 2 * image.out_width;
  if (interpolation == Interpolation::kNearest) return take_nearest(from, to, image);
  if ((interpolation == Interpolation::kArea && shrinks) || (interpolation == Interpolation::kLinear && halves)) {
    if constexpr (std::is_same_v<T, unsigned char>)
      if (by_whole) return average_blocks(from, to, image);
    return average(from, to, image);
  }
  const int count = tap_count(interpolation);
  if (count == 2)
    interpolate<2>(from, to, image, interpolation);
  else if (count == 4)
    interpolate<4>(from, to, image, interpolation);
  else
    interpolate<8>(from, to, image, interpolation);
}

}  // namespace

void scale_image(const void* from, void* to, DType dtype, const ScaledImage& image, Interpolation interpolation) {
  if (dtype == DType::kUint8)
    scale(static_cast<const unsigned char*>(from), static_cast<unsigned char*>(to), image, interpolation);
  else
    scale(static_cast<const float*>(from), static_cast<float*>(to), image, interpolation);
}

}  // namespace headrace
