// Ranks of several processes that meet in shared memory, whose name is in the unique id. Each rank puts there what it
// gives, piece by piece, and computes for itself from what all have put there. A rank that dies is waited for, as
// NCCL's kernels do, until the communicator is aborted.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "tests/cuda/stand_in/nccl.h"

namespace stand_in {

inline constexpr size_t kIdBytes = 128;
inline constexpr size_t kMostRanks = 8;

struct Meeting;  // the shared memory

class Processes {
 public:
  // Makes the place, and gives its name.
  static std::string make_place();
  // Ends the process for another size than that of others, and for a rank that is there.
  Processes(const std::string& place, size_t rank, size_t size, const std::string& device);
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  // kInProgress: until all ranks are there. kInvalidUsage: two of them have one device.
  Result connected() const;
  // A rank never comes to a collective, and the others may know.
  bool is_stuck() const;
  void abort() noexcept { is_aborted_ = true; }
  // On the stream of the rank. The n-th collective, from 1.
  void take_part(uint64_t number, const Call& call);

 private:
  // `read` is given where each part of `bytes` of what all ranks give lies, and where it begins. False: it was aborted.
  using Read = std::function<void(size_t begin, size_t bytes, const std::vector<const char*>& pieces)>;
  bool exchange(uint64_t number, const Call& call, size_t bytes, const Read& read);
  bool await(const std::function<bool(size_t rank)>& has_come) const;
  void check(uint64_t number, const Call& call) const;

  Meeting* meeting_;
  const size_t rank_, size_;
  uint64_t pieces_ = 0;  // so many were exchanged
  std::atomic<bool> is_aborted_{false};
};

}  // namespace stand_in
