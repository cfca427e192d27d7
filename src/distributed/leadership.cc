#include "distributed/leadership.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "distributed/channel.h"
#include "distributed/processes.h"

namespace headrace::distributed {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLeaseTime{2};  // the shortest that etcd grants
constexpr milliseconds kRenewalTime{500};
// For which nodes stay with a leader that etcd does not answer: it may be choosing a leader of its own. Others may lead
// meanwhile; what this one would decide does not count then.
constexpr milliseconds kHoldTime{4000};
constexpr milliseconds kLookTime{100};
constexpr seconds kFarewellTime{2};

// What two transactions have in common that write: the number of the operation that reads the key.
enum Otherwise { kLeaderThere, kProgressThere };
enum Won { kLeaderPut, kOverThere, kProgressLeft, kStateLeft };

// For which the keys of a job stay when no scheduler is left.
seconds time_of_job(const Job& job) { return seconds(job.retry_ms / 1000) + std::chrono::minutes(1); }

}  // namespace

Leadership::Leadership(const Job& job) : job_(job), etcd_(job) {}

Leadership::~Leadership() { resign(); }

std::string Leadership::key(const char* name) const { return fmt::format("/headrace/{}/{}", job_.name, name); }

void Leadership::fail_unanswered() const {
  fail(ErrorKind::kRuntime, "distributed: etcd has not answered the scheduler for {} seconds: {}", job_.retry_ms / 1e3,
       etcd_.trouble());
}

void Leadership::transact(const Transaction& transaction, etcdserverpb::TxnResponse& response) {
  if (!etcd_.transact(transaction, response, Clock::now() + milliseconds(job_.retry_ms))) fail_unanswered();
}

// --- who leads -------------------------------------------------------------------------------------------------------

bool Leadership::await() {
  auto asked = Clock::now();
  while (!is_over_) {
    if (!look()) {
      asked = Clock::now();
      if (!is_over_) std::this_thread::sleep_for(kLookTime);
      continue;
    }
    if (try_to_lead(asked + milliseconds(job_.retry_ms))) return true;
    if (Clock::now() >= asked + milliseconds(job_.retry_ms)) fail_unanswered();
  }
  return false;
}

bool Leadership::look() {
  Transaction looking;
  looking.get(key("leader"));
  looking.get(key("over"));
  etcdserverpb::TxnResponse response;
  transact(looking, response);
  is_over_ = found(response, 1) != nullptr;
  const etcdserverpb::KeyValue* const there = found(response, 0);
  if (is_over_ || !there) return !is_over_;
  Leader leader;
  leader.ParseFromString(there->value());
  // A process that listens where this one does has ended.
  if (leader.address() == address_of(job_.host, job_.port) || has_ended(leader.process()))
    depose(there->create_revision());
  return false;
}

void Leadership::depose(int64_t made_at) {
  Transaction removing;
  removing.require_made(key("leader"), made_at);
  removing.remove(key("leader"));
  etcdserverpb::TxnResponse response;
  transact(removing, response);
}

bool Leadership::try_to_lead(Clock::time_point deadline) {
  if (!etcd_.grant(kLeaseTime, lease_, deadline)) return false;
  Leader own;
  own.set_address(address_of(job_.host, job_.port));
  own.set_process(own_process());
  Transaction leading;
  leading.require_made(key("leader"), 0);
  leading.put(key("leader"), own.SerializeAsString(), lease_);
  leading.get(key("over"));
  leading.get(key("progress"));
  leading.get(key("state"));
  etcdserverpb::TxnResponse response;
  const bool is_answered = etcd_.transact(leading, response, std::min(deadline, Clock::now() + kLeaseTime));
  if (is_answered && response.succeeded()) take(response);
  const bool leads = is_answered && response.succeeded() && !is_over_ &&
                     (lease_of_job_ != 0 || etcd_.grant(time_of_job(job_), lease_of_job_, deadline));
  if (!leads) etcd_.revoke(lease_, Clock::now() + kFarewellTime);
  return leads;
}

void Leadership::take(const etcdserverpb::TxnResponse& won) {
  is_over_ = found(won, kOverThere) != nullptr;
  made_at_ = won.header().revision();
  kept_ = {};
  change_ = 0;
  written_at_ = lease_of_job_ = 0;
  state_.clear();
  if (const auto* const there = found(won, kProgressLeft)) {
    Progress progress;
    progress.ParseFromString(there->value());
    change_ = progress.change();
    kept_.meetings = progress.meetings();
    written_at_ = there->mod_revision();
    lease_of_job_ = there->lease();
  }
  if (const auto* const there = found(won, kStateLeft)) {
    state_ = there->value();
    check(kept_.state.ParseFromString(state_), ErrorKind::kRuntime,
          "distributed: what the scheduler before has left in etcd at '{}' cannot be read; is it of another version?",
          key("state"));
  }
}

// --- as long as this one does ----------------------------------------------------------------------------------------

void Leadership::hold(std::function<void()> lost) {
  lost_ = std::move(lost);
  is_lost_ = is_resigning_ = false;
  renewing_ = std::thread([this] { renew(); });
}

void Leadership::renew() {
  auto renewed = Clock::now();
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kRenewalTime, [this] { return is_resigning_ || is_lost_; })) {
    lock.unlock();
    const auto begun = Clock::now();
    bool is_there = true;
    try {
      bool is_job_there = true;
      if (etcd_.renew(lease_, is_there, renewed + kHoldTime)) renewed = begun;
      if (lease_of_job_ != 0) etcd_.renew(lease_of_job_, is_job_there, renewed + kHoldTime);
    } catch (const std::exception& error) {
      fmt::print(stderr, "scheduler: {}\n", error.what());
      is_there = false;
    }
    lock.lock();
    is_lost_ = !is_there || Clock::now() >= renewed + kHoldTime;
  }
  if (is_resigning_) return;
  lock.unlock();
  lost_();
}

bool Leadership::keep(const Kept& kept) {
  const auto deadline = Clock::now() + milliseconds(job_.retry_ms);
  const std::string state = kept.state.SerializeAsString();
  Progress progress;
  progress.set_change(++change_);
  progress.set_meetings(kept.meetings);
  while (true) {
    Transaction writing;
    writing.require_made(key("leader"), made_at_);
    writing.require_written(key("progress"), written_at_);
    writing.put(key("progress"), progress.SerializeAsString(), lease_of_job_);
    if (state != state_) writing.put(key("state"), state, lease_of_job_);
    writing.get_otherwise(key("leader"));
    writing.get_otherwise(key("progress"));
    etcdserverpb::TxnResponse response;
    {
      std::lock_guard guard(mutex_);
      if (is_lost_ || is_resigning_) return false;
    }
    if (!etcd_.transact(writing, response, Clock::now() + kRenewalTime)) {
      if (Clock::now() >= deadline) fail_unanswered();
      continue;
    }
    const auto* const leader = response.succeeded() ? nullptr : found(response, kLeaderThere);
    if (!response.succeeded() && (!leader || leader->create_revision() != made_at_)) return false;
    if (response.succeeded()) {
      written_at_ = response.header().revision();
      break;
    }
    // An attempt that was given up has been carried out: this change, or none of this one's leadership.
    const auto* const there = found(response, kProgressThere);
    written_at_ = there ? there->mod_revision() : 0;
    Progress written;
    if (there && written.ParseFromString(there->value()) && written.change() == change_) break;
  }
  state_ = state;
  return true;
}

void Leadership::resign() {
  {
    std::lock_guard guard(mutex_);
    is_resigning_ = true;
    changed_.notify_all();
  }
  if (renewing_.joinable()) renewing_.join();
}

void Leadership::finish() {
  Transaction ending;
  ending.require_made(key("leader"), made_at_);
  for (const char* const name : {"leader", "progress", "state"}) ending.remove(key(name));
  ending.put(key("over"), {}, lease_of_job_);
  etcdserverpb::TxnResponse response;
  transact(ending, response);
  resign();
  etcd_.revoke(lease_, Clock::now() + kFarewellTime);
}

}  // namespace headrace::distributed
