// Wire: what moves bytes between the ranks of a group. Group begins every transfer, in one thread of its own, and asks
// whether it is done; nothing here waits. Transfers of one lane are begun in the same order on all ranks, those of
// different lanes in any.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "collective/machines.h"

namespace headrace::collective {

// What one transfer moves, all ranks together, is below this; whoever has more takes several.
inline constexpr size_t kMostBytes = size_t{1} << 30;

// A transfer on its way. It ends by itself before it is destroyed, unless the process ends.
class Transfer {
 public:
  virtual ~Transfer() = default;
  // Raises RuntimeError when it has failed, for which another rank is the reason.
  virtual bool is_done() = 0;
};
using TransferPtr = std::unique_ptr<Transfer>;

class Wire {
 public:
  virtual ~Wire() = default;

  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  virtual const Machines& machines() const noexcept = 0;

  // Among the members of a lane that scatters. In `own` there are parts for all of them, one after the other, of
  // sizes[m] bytes. Each is given those that are meant for it, in the order of the members; the place of its own is
  // left as it is.
  virtual TransferPtr scatter(Lane lane, const std::byte* own, std::span<const size_t> sizes, std::byte* all) = 0;
  // Among the members of another lane. In `all` there is room for a part of each, of sizes[m] bytes, one after the
  // other; that of this rank is there.
  virtual TransferPtr gather(Lane lane, std::byte* all, std::span<const size_t> sizes) = 0;
  // Writes what rank `root` has into `data` of the others. Lane kGather.
  virtual TransferPtr broadcast(std::byte* data, size_t size, int root) = 0;

  // Calls `news`, by any thread, whenever a transfer may be done that was not. False: it never does, and moves bytes
  // while it is asked whether a transfer is done.
  virtual bool tell_news(std::function<void()> /*news*/) { return false; }
  // `waiting` counts the threads of the program that wait in a call: for a wire that finds out who waits for whom.
  virtual void watch(std::shared_ptr<const std::atomic<int>> /*waiting*/) {}
  // Whether what a rank has given gets to the others when it has left, and they hear that it has: nobody waits for
  // others in order to leave.
  virtual bool outlasts_ranks() const noexcept { return false; }
  // This rank has failed, and others wait for it: ends their processes and this one, or has their transfers fail.
  virtual void abort(const std::string& why) = 0;
};

}  // namespace headrace::collective
