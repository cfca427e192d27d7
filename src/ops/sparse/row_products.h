// Products of the stored elements of csr rows with rows of a dense matrix. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <type_traits>

namespace headrace {

template <class T>
struct RowProducts {
  // For each of `count` csr rows, whose elements are [begins[r], begins[r + 1]): to[r * width + j] = the sum over these
  // elements i, in their order, of values[i] * rows[places[i] * width + j].
  void (*sums)(const T* values, const int64_t* places, const int64_t* begins, int64_t count, const T* rows,
               int64_t width, T* to) noexcept;
  // to[places[i] * width + j] += values[i] * row[j], for one i after the other.
  void (*scatter)(const T* values, const int64_t* places, int64_t count, const T* row, int64_t width, T* to) noexcept;
};

template <class T>
inline constexpr bool kHasRowProducts = std::is_same_v<T, float> || std::is_same_v<T, double>;

template <class T>
const RowProducts<T>& row_products() noexcept;
template <>
const RowProducts<float>& row_products<float>() noexcept;
template <>
const RowProducts<double>& row_products<double>() noexcept;

}  // namespace headrace
