// Every error that a user can cause is a headrace::Error.
//
// The kind survives the engine: a task that fails on a worker thread keeps its Error on the arrays it would have
// written, and the wait that meets it rethrows the same kind and text. Python maps kinds to its own exception types.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace headrace {

enum class ErrorKind : uint8_t {
  kRuntime,         // MXNetError in Python
  kValue,           // ValueError
  kType,            // TypeError
  kIndex,           // IndexError
  kKey,             // KeyError
  kAttribute,       // AttributeError
  kNotImplemented,  // NotImplementedError
  kMemory,          // MemoryError
  kOs,              // OSError
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace headrace
