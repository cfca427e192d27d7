// What an array is stored as.
#pragma once

#include <cstdint>
#include <string_view>

namespace headrace {

enum class StorageKind : uint8_t {
  kDense,      // an element at every place
  kRowSparse,  // the rows (entries of the first axis) that are listed; all others are zero
  kCsr,        // of two axes, row by row the elements that are listed; all others are zero
};

// As MXNet names them: "default", "row_sparse", "csr".
const char* storage_kind_name(StorageKind kind) noexcept;
// Raises ValueError for another name.
StorageKind parse_storage_kind(std::string_view name);

}  // namespace headrace
