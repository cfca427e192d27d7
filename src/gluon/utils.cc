#include "headrace/gluon/utils.hpp"

#include "base/check.h"
#include "headrace/devices.hpp"
#include "op/invoke.h"

namespace headrace::gluon::utils {

std::vector<NDArray> split_data(const NDArray& data, int64_t num_slice, int64_t batch_axis, bool even_split) {
  check(static_cast<bool>(data), ErrorKind::kType, "split_data: the data are none; give an array");
  check(num_slice > 0, ErrorKind::kValue, "split_data: expected at least one slice, got {}", num_slice);
  const int64_t axis = normalize_axis(batch_axis, static_cast<int64_t>(data.ndim()), "split_data");
  const int64_t size = data.shape()[static_cast<size_t>(axis)];
  check(!even_split || size % num_slice == 0, ErrorKind::kValue,
        "data with shape {} cannot be evenly split into {} slices along axis {}. Use a batch size that's a multiple of "
        "{} or even_split = false.",
        to_string(data.shape()), num_slice, batch_axis, num_slice);
  if (num_slice == 1) return {data};
  std::vector<NDArray> slices;
  for (int64_t i = 0, begin = 0; i < num_slice; ++i) {
    const int64_t end = begin + size / num_slice + (i < size % num_slice);
    slices.push_back(call("slice_axis", {data}, {{"axis", axis}, {"begin", begin}, {"end", end}}));
    begin = end;
  }
  return slices;
}

std::vector<NDArray> split_and_load(const NDArray& data, const std::vector<Device>& devices, int64_t batch_axis,
                                    bool even_split) {
  std::vector<NDArray> slices = split_data(data, static_cast<int64_t>(devices.size()), batch_axis, even_split);
  for (size_t i = 0; i < slices.size(); ++i) slices[i] = as_in_context(slices[i], devices[i]);
  return slices;
}

}  // namespace headrace::gluon::utils
