// Leadership: of the schedulers of a job one leads, whose key in etcd goes when it does not renew its lease. What it
// must not forget it writes there by transactions that count only as long as the key is its own, so that one which has
// been stopped, or cut off, and does not know that another leads, cannot decide anything.
//
// The keys of a job, all below /headrace/NAME/, go by themselves some time after the last scheduler has.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "distributed/etcd.h"
#include "distributed/gathering.h"
#include "distributed/job.h"

namespace headrace::distributed {

class Leadership final : public Keeper {
 public:
  // Raises OSError where certificates cannot be read.
  explicit Leadership(const Job& job);
  ~Leadership();
  Leadership(const Leadership&) = delete;
  Leadership& operator=(const Leadership&) = delete;

  // Waits until this scheduler leads. False: the job is over. Raises RuntimeError, naming the address, when etcd does
  // not answer for as long as the job says, or refuses.
  bool await();
  // After await(): what the one before has left.
  const Kept& kept() const noexcept { return kept_; }
  // Calls `lost`, once, when this scheduler may not lead any more. A thread does, which it must not hold up.
  void hold(std::function<void()> lost);
  bool keep(const Kept& kept) override;
  // It leads no more; hold() calls nothing any more.
  void resign();
  // The job is over: its keys go, and other schedulers end.
  void finish();

 private:
  using Clock = Etcd::Clock;

  std::string key(const char* name) const;
  bool look();  // whether nobody leads
  bool try_to_lead(Clock::time_point deadline);
  void take(const etcdserverpb::TxnResponse& won);
  std::string progress() const;
  void transact(const Transaction& transaction, etcdserverpb::TxnResponse& response);
  void renew();
  void depose(int64_t made_at);
  [[noreturn]] void fail_unanswered() const;

  const Job& job_;
  Etcd etcd_;
  bool is_over_ = false;
  int64_t made_at_ = 0;       // the revision of the key of the leader, when that is this one
  int64_t lease_ = 0;         // of that key
  int64_t lease_of_job_ = 0;  // of the other keys
  Kept kept_;
  uint64_t change_ = 0;     // the number of the last one that was kept; these: of the thread that keeps
  int64_t written_at_ = 0;  // its revision
  std::string state_;       // as it was written
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> lost_;
  bool is_lost_ = false, is_resigning_ = false;  // guarded by mutex_
  std::thread renewing_;
};

}  // namespace headrace::distributed
