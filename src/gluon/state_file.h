// The file of a Trainer's states while it is read: named arrays, each of which is taken once.
#pragma once

#include <map>
#include <string>

#include "base/check.h"
#include "ndarray/serialize.h"

namespace headrace::gluon {

class StateFile {
 public:
  explicit StateFile(const std::string& path) : path_(path) {
    NamedArrays loaded = load_arrays(path);
    for (size_t i = 0; i < loaded.names.size(); ++i) arrays_[loaded.names[i]] = loaded.arrays[i];
  }

  bool has(const std::string& name) const { return arrays_.contains(name); }
  NDArray take(const std::string& name, DType dtype, const Shape& shape) {
    auto found = arrays_.extract(name);
    check(!found.empty(), ErrorKind::kValue,
          "Trainer.load_states: {} has no '{}'; expected what save_states of the same optimizer wrote", path_, name);
    const NDArray& array = found.mapped();
    check(static_cast<bool>(array), ErrorKind::kValue, "Trainer.load_states: '{}' of {} is no array", name, path_);
    check(array.dtype() == dtype && array.shape() == shape, ErrorKind::kValue,
          "Trainer.load_states: '{}' of {} must be {} of shape {}, got {} of shape {}", name, path_, dtype_name(dtype),
          to_string(shape), dtype_name(array.dtype()), to_string(array.shape()));
    return array;
  }
  template <class T>
  T take_number(const std::string& name) {
    return take(name, dtype_of<T>(), {1}).template to_vector<T>()[0];
  }
  void check_empty() const {
    if (!arrays_.empty())
      fail(ErrorKind::kValue,
           "Trainer.load_states: {} has '{}', which this trainer does not know; load it with the optimizer and the "
           "parameters that it was saved from",
           path_, arrays_.begin()->first);
  }

 private:
  std::string path_;
  std::map<std::string, NDArray> arrays_;
};

}  // namespace headrace::gluon
