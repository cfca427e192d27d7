// Heap: memory in which a process puts what others on the machine read, so that large arrays need not pass a socket. It
// is an anonymous file, so nothing is left behind whatever ends a process. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "distributed/protocol.pb.h"

namespace headrace::distributed {

class OwnHeap;

// A part of an own heap, which goes back to it at the end.
class Block {
 public:
  Block(std::shared_ptr<OwnHeap> heap, uint64_t place, size_t bytes) noexcept
      : heap_(std::move(heap)), place_(place), bytes_(bytes) {}
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  char* data() const noexcept;
  uint64_t place() const noexcept { return place_; }
  size_t bytes() const noexcept { return bytes_; }

 private:
  const std::shared_ptr<OwnHeap> heap_;
  const uint64_t place_;
  const size_t bytes_;
};
using BlockPtr = std::shared_ptr<const Block>;

class OwnHeap : public std::enable_shared_from_this<OwnHeap> {
 public:
  // A quarter of the machine's memory at most, of which only what is used is taken. Null: the system has none.
  static std::shared_ptr<OwnHeap> make();
  ~OwnHeap();
  OwnHeap(const OwnHeap&) = delete;
  OwnHeap& operator=(const OwnHeap&) = delete;

  // Null when there is no room.
  BlockPtr take(size_t bytes);
  // By which others find it.
  Heap description() const;

 private:
  friend class Block;
  OwnHeap(int file, char* data, size_t size, std::string mark) noexcept
      : file_(file), data_(data), size_(size), mark_(std::move(mark)) {}
  void give_back(uint64_t place, size_t bytes) noexcept;

  const int file_;
  char* const data_;
  const size_t size_;
  const std::string mark_;
  std::mutex mutex_;
  uint64_t end_;                                   // of what was ever taken; these: guarded by mutex_
  std::map<size_t, std::vector<uint64_t>> freed_;  // places, by their size
};

// The heap of another process, to be read.
class SeenHeap {
 public:
  // Null when it is not on this machine, or not what it is said to be.
  static std::shared_ptr<const SeenHeap> find(const Heap& description);
  ~SeenHeap();
  SeenHeap(const SeenHeap&) = delete;
  SeenHeap& operator=(const SeenHeap&) = delete;

  // Null when such a part would not lie within.
  const char* at(uint64_t place, uint64_t bytes) const noexcept;

 private:
  SeenHeap(const char* data, size_t size) noexcept : data_(data), size_(size) {}

  const char* const data_;
  const size_t size_;
};

}  // namespace headrace::distributed
