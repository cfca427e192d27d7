#include "ops/image/scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <type_traits>
#include <vector>

#include "backend/cpu/parallel.h"

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

void linear_weights(float place, float* weights) {
  weights[0] = 1 - place;
  weights[1] = place;
}

void cubic_weights(float x, float* weights) {
  constexpr float kA = -0.75f;
  weights[0] = ((kA * (x + 1) - 5 * kA) * (x + 1) + 8 * kA) * (x + 1) - 4 * kA;
  weights[1] = ((kA + 2) * x - (kA + 3)) * x * x + 1;
  weights[2] = ((kA + 2) * (1 - x) - (kA + 3)) * (1 - x) * (1 - x) + 1;
  weights[3] = 1 - weights[0] - weights[1] - weights[2];
}

void lanczos_weights(float x, float* weights) {
  constexpr double kQuarter = std::numbers::pi / 4, kDiagonal = 0.70710678118654752440;
  constexpr double kTurns[8][2] = {{1, 0},  {-kDiagonal, -kDiagonal}, {0, 1},  {kDiagonal, -kDiagonal},
                                   {-1, 0}, {kDiagonal, kDiagonal},   {0, -1}, {-kDiagonal, kDiagonal}};
  if (x < 1.1920929e-07f) {
    std::fill_n(weights, 8, 0.0f);
    weights[3] = 1;
    return;
  }
  float sum = 0;
  const double y0 = -(x + 3) * kQuarter, sine = std::sin(y0), cosine = std::cos(y0);
  for (int i = 0; i < 8; ++i) {
    const double y = -(x + 3 - static_cast<float>(i)) * kQuarter;
    weights[i] = static_cast<float>((kTurns[i][0] * sine + kTurns[i][1] * cosine) / (y * y));
    sum += weights[i];
  }
  for (int i = 0; i < 8; ++i) weights[i] *= 1 / sum;
}

// As area is for enlarging: linear, but each element keeps its value as far as it reaches.
float area_share(int64_t result, int64_t first, double step) {
  const auto share = static_cast<float>(static_cast<double>(result + 1) - static_cast<double>(first + 1) / step);
  return share <= 0 ? 0.0f : share - std::floor(share);
}

// Of columns, linear weights at the border are one whole; of rows two that meet there, which rounds otherwise.
Taps taps_of(int64_t size, int64_t out, Interpolation interpolation, bool of_rows) {
  Taps taps;
  taps.count = interpolation == Interpolation::kCubic ? 4 : interpolation == Interpolation::kLanczos ? 8 : 2;
  const double step = static_cast<double>(size) / static_cast<double>(out);
  for (int64_t i = 0; i < out; ++i) {
    auto place = static_cast<float>((static_cast<double>(i) + 0.5) * step - 0.5);
    int64_t low;
    if (interpolation == Interpolation::kArea) {
      low = static_cast<int64_t>(std::floor(static_cast<double>(i) * step));
      place = area_share(i, low, step);
    } else {
      low = static_cast<int64_t>(std::floor(place));
      place -= static_cast<float>(low);
    }
    if (taps.count == 2 && !of_rows && low < 0) low = 0, place = 0;
    if (taps.count == 2 && !of_rows && low >= size - 1) low = size - 1, place = 0;
    float weights[8];
    if (taps.count == 2) linear_weights(place, weights);
    if (taps.count == 4) cubic_weights(place, weights);
    if (taps.count == 8) lanczos_weights(place, weights);
    taps.first.push_back(low - taps.count / 2 + 1);
    for (int k = 0; k < taps.count; ++k) {
      taps.weights.push_back(weights[k]);
      taps.fixed.push_back(static_cast<int>(std::lrint(weights[k] * (1 << kBits))));
    }
  }
  return taps;
}

// --- weights of neighbours -------------------------------------------------------------------------------------------

// One row of the image, resized along it. uint8: int with kBits behind the point.
template <class T, class Sum>
void across(const T* row, const ScaledImage& image, const Taps& taps, Sum* to) {
  const int64_t channels = image.channels, last = image.width - 1;
  for (int64_t x = 0; x < image.out_width; ++x)
    for (int64_t c = 0; c < channels; ++c) {
      Sum sum = 0;
      for (int k = 0; k < taps.count; ++k) {
        const int64_t column = std::clamp<int64_t>(taps.first[static_cast<size_t>(x)] + k, 0, last);
        const auto at = static_cast<size_t>(x * taps.count + k);
        if constexpr (std::is_same_v<Sum, int>)
          sum += static_cast<int>(row[column * channels + c]) * taps.fixed[at];
        else
          sum += row[column * channels + c] * taps.weights[at];
      }
      to[x * channels + c] = sum;
    }
}

unsigned char to_byte(int value) { return static_cast<unsigned char>(std::clamp(value, 0, 255)); }

// Rows that were resized along themselves, put together into one of the result.
void down(const std::array<const int*, 8>& rows, const int* weights, int count, int64_t size, unsigned char* to) {
  if (count == 2) {
    for (int64_t i = 0; i < size; ++i)
      to[i] = to_byte(((weights[0] * (rows[0][i] >> 4) >> 16) + (weights[1] * (rows[1][i] >> 4) >> 16) + 2) >> 2);
    return;
  }
  for (int64_t i = 0; i < size; ++i) {
    int64_t sum = 0;
    for (int k = 0; k < count; ++k) sum += int64_t{rows[static_cast<size_t>(k)][i]} * weights[k];
    to[i] = to_byte(static_cast<int>((sum + (1 << (2 * kBits - 1))) >> 2 * kBits));
  }
}

void down(const std::array<const float*, 8>& rows, const float* weights, int count, int64_t size, float* to) {
  for (int64_t i = 0; i < size; ++i) {
    float sum = 0;
    for (int k = 0; k < count; ++k) sum += rows[static_cast<size_t>(k)][i] * weights[k];
    to[i] = sum;
  }
}

template <class T, class Sum>
void interpolate(const T* from, T* to, const ScaledImage& image, Interpolation interpolation) {
  const Taps columns = taps_of(image.width, image.out_width, interpolation, false);
  const Taps rows = taps_of(image.height, image.out_height, interpolation, true);
  const int64_t row = image.width * image.channels, out_row = image.out_width * image.channels;
  const double cost = static_cast<double>(out_row * image.out_height) * columns.count * 1.5;
  parallel_for(image.out_height, 1, cost, [&](int64_t begin, int64_t end) {
    // Resized rows, each in the slot of its number; neighbours never share one.
    std::array<std::vector<Sum>, 8> slots;
    std::array<int64_t, 8> held;
    held.fill(-1);
    for (int64_t y = begin; y < end; ++y) {
      std::array<const Sum*, 8> needed{};
      for (int k = 0; k < rows.count; ++k) {
        const int64_t source = std::clamp<int64_t>(rows.first[static_cast<size_t>(y)] + k, 0, image.height - 1);
        const auto slot = static_cast<size_t>(source % 8);
        if (held[slot] != source) {
          slots[slot].resize(static_cast<size_t>(out_row));
          across(from + source * row, image, columns, slots[slot].data());
          held[slot] = source;
        }
        needed[static_cast<size_t>(k)] = slots[slot].data();
      }
      const auto at = static_cast<size_t>(y * rows.count);
      if constexpr (std::is_same_v<Sum, int>)
        down(needed, &rows.fixed[at], rows.count, out_row, to + y * out_row);
      else
        down(needed, &rows.weights[at], rows.count, out_row, to + y * out_row);
    }
  });
}

// --- nearest and area ------------------------------------------------------------------------------------------------

template <class T>
void take_nearest(const T* from, T* to, const ScaledImage& image) {
  const auto source = [](int64_t i, int64_t size, int64_t out) {
    const double step = 1 / (static_cast<double>(out) / static_cast<double>(size));
    return std::min(static_cast<int64_t>(std::floor(static_cast<double>(i) * step)), size - 1);
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
  const double step = static_cast<double>(size) / static_cast<double>(out);
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

template <class T, class Sum>
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
  interpolate<T, Sum>(from, to, image, interpolation);
}

}  // namespace

void scale_image(const void* from, void* to, DType dtype, const ScaledImage& image, Interpolation interpolation) {
  if (dtype == DType::kUint8)
    scale<unsigned char, int>(static_cast<const unsigned char*>(from), static_cast<unsigned char*>(to), image,
                              interpolation);
  else
    scale<float, float>(static_cast<const float*>(from), static_cast<float*>(to), image, interpolation);
}

}  // namespace headrace
