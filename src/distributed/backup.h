// Backup: what a server tells the process that stands by for it, and which answers wait until that has heard it. A
// server without one tells nobody, and nothing waits. Any thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "distributed/link.h"

namespace headrace::distributed {

class Backup {
 public:
  using Told = std::vector<std::pair<Request, Load>>;

  // `failed`: called, once, by any thread, when the backup cannot be told any more, with the reason. What waits then
  // waits for ever, as another process may serve in the place of this one.
  explicit Backup(std::function<void(const std::string& why)> failed) : failed_(std::move(failed)) {}

  // There is one from now on.
  void begin(const Job& job, const std::string& address, const Identity& identity, std::shared_ptr<OwnHeap> heap);
  // It is gone, and nobody will take the place of this process: what waits goes out.
  void end();
  // What waits does so for ever: another process serves.
  void stop();
  bool is_there() const;

  // The number of what will be told, in the order of these calls.
  uint64_t reserve();
  // Once for each number, later or at once.
  void fill(uint64_t number, Told told);
  void tell(Request request, Load load);
  // Where the backup will see an array of so many bytes; null: send the array as pieces.
  BlockPtr block_for(size_t bytes);

  // Calls `what` when all that has a number now is known to the backup.
  void after(std::function<void()> what);
  // Whether so much is on its way that nothing more should be asked for.
  bool is_full() const;

 private:
  struct Waiting {
    uint64_t number;
    std::function<void()> what;
  };

  void send();
  void hear(uint64_t number, size_t bytes, bool is_last, const grpc::Status& status);
  uint64_t least_missing() const;  // mutex_ is locked

  const std::function<void(const std::string&)> failed_;
  std::mutex order_;  // of what is sent; taken before the other one
  mutable std::mutex mutex_;
  std::shared_ptr<Link> link_;              // null: there is no backup; these: guarded by mutex_
  uint64_t reserved_ = 0;                   // the last number
  std::set<uint64_t> missing_;              // numbers that the backup has not confirmed
  uint64_t next_ = 1;                       // the first number that was not sent
  std::deque<std::optional<Told>> unsent_;  // from that one on
  std::deque<Waiting> waiting_;             // by number
  size_t bytes_ = 0;                        // that are on their way
  bool has_failed_ = false;
};

}  // namespace headrace::distributed
