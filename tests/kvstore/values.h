// Values on the CPUs of a store, and what a store holds.
#pragma once

#include <vector>

#include "headrace/kvstore.hpp"
#include "tests/support/arrays.h"

namespace headrace::kvstore {

inline NDArray on(int cpu, const std::vector<float>& values) {
  NDArray made = NDArray::empty({static_cast<int64_t>(values.size())}, DType::kFloat32, {DeviceType::kCpu, cpu});
  copy_into(made, array(values));
  return made;
}

inline std::vector<float> pulled(KVStore& store, const Key& key, const Shape& shape) {
  const NDArray out = NDArray::empty(shape);
  store.pull(key, {out});
  return out.to_vector<float>();
}

inline std::vector<float> pulled(KVStore& store, const Key& key, size_t size) {
  return pulled(store, key, Shape{static_cast<int64_t>(size)});
}

}  // namespace headrace::kvstore
