// LayoutCopies: arrays of one storage in layouts that kernels prefer, kept as long as the contents stay (weights of a
// network that predicts). What is asked for once is not kept: weights that change with every step would only fill
// memory. Owned by its Storage. Any thread that holds access to the storage's Var may call it.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "ndarray/storage.h"

namespace headrace {

class LayoutCopies {
 public:
  // What a kernel finds for the array that begins at `from` under the name of a layout (how it lies and how it should).
  // `data` is valid as long as the kernel holds access to the Var.
  struct Found {
    void* data = nullptr;
    bool is_worth_keeping = false;  // no data, but asked for again since the contents changed, and there is room
  };
  Found find(const void* from, const std::string& layout);
  // Keeps a copy of `bytes` that `fill(data)` writes; two threads may make the same one, and one of them is kept.
  // Raises MemoryError.
  template <class Fill>
  void* keep(const void* from, const std::string& layout, size_t bytes, Fill&& fill) {
    // Not under the lock: the thread may run other tasks while it waits for parts of `fill`.
    StoragePtr copy = make(bytes);
    fill(copy->data());
    return insert(from, layout, std::move(copy));
  }

 private:
  static constexpr size_t kMost = 2;  // kept copies of one storage

  struct Copy {
    const void* from;
    std::string layout;
    StoragePtr memory;  // null: asked for once
  };

  static StoragePtr make(size_t bytes);
  void* insert(const void* from, const std::string& layout, StoragePtr copy);

  std::mutex mutex_;
  std::vector<Copy> copies_;
};

}  // namespace headrace
