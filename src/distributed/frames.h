// Frames as they pass a stream: the length of the head in 4 bytes, little-endian, the head, and elements of arrays.
// Nothing of the elements is copied. What is read is checked: it may come from another version, or from nobody we know.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <vector>

#include "distributed/protocol.pb.h"

namespace headrace::distributed {

// The elements of an array, in pieces.
class Elements {
 public:
  Elements() = default;
  explicit Elements(std::vector<grpc::Slice> pieces) : pieces_(std::move(pieces)) {}
  // Bytes that `owner` keeps.
  template <class Owner>
  Elements(const char* data, size_t bytes, Owner owner) {
    const auto free = [](void* kept) { delete static_cast<Owner*>(kept); };
    pieces_.emplace_back(const_cast<char*>(data), bytes, free, new Owner(std::move(owner)));
  }

  size_t size() const noexcept;
  void copy_to(char* place) const noexcept;
  const std::vector<grpc::Slice>& pieces() const noexcept { return pieces_; }

 private:
  std::vector<grpc::Slice> pieces_;
};

grpc::ByteBuffer written(const Frame& head, const std::vector<grpc::Slice>& elements);

// What follows the head of a frame.
class Behind {
 public:
  explicit Behind(std::vector<grpc::Slice> pieces) : pieces_(std::move(pieces)) {}

  // The next bytes. Raises ValueError when there are not so many left.
  Elements take(uint64_t bytes);
  bool is_empty() const noexcept { return next_ == pieces_.size(); }

 private:
  std::vector<grpc::Slice> pieces_;
  size_t next_ = 0;   // the first piece of which something is left
  size_t taken_ = 0;  // of that piece
};

// Raises ValueError for what is no frame.
Behind read(const grpc::ByteBuffer& bytes, Frame& head);

// The array of a message, if it has one.
Array* array_in(Request& request);
Array* array_in(Reply& reply);

}  // namespace headrace::distributed
