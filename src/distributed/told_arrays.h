// ToldArrays: arrays of which another process has told all, and later rows that have changed. Belongs to one thread.
#pragma once

#include <cstddef>
#include <vector>

#include "headrace/ndarray.hpp"

namespace headrace::distributed {

class ToldArrays {
 public:
  // Dense or row_sparse.
  explicit ToldArrays(std::vector<NDArray> whole);

  // Of each array the rows that have changed, row_sparse. They are put in their places when they are as large as the
  // arrays, or when somebody asks, so that this costs no more than they do. Raises ValueError for other arrays.
  void change_rows(std::vector<NDArray> rows);
  // Waits. They are not to be written: they may lie in the memory of who told them.
  const std::vector<NDArray>& whole();

 private:
  size_t bytes() const;

  std::vector<NDArray> whole_;
  std::vector<std::vector<NDArray>> changes_;  // in the order in which they came
  size_t changed_bytes_ = 0;
};

}  // namespace headrace::distributed
