#include "distributed/backup.h"

#include "distributed/history.h"

namespace headrace::distributed {
namespace {

constexpr size_t kMostOnTheirWay = size_t{64} << 20;  // on their way to the backup

size_t size_of(const Request& request, const Load& load) {
  return request.ByteSizeLong() + load.bytes + load.elements.size();
}

}  // namespace

void Backup::begin(const Job& job, const std::string& address, const Identity& identity,
                   std::shared_ptr<OwnHeap> heap) {
  auto link = std::make_shared<Link>(job, address, identity, std::move(heap));
  std::lock_guard guard(mutex_);
  link_.swap(link);
}

void Backup::end() {
  std::deque<Waiting> waiting;
  std::shared_ptr<Link> link;  // ends without the lock
  {
    std::lock_guard in_order(order_);
    std::lock_guard guard(mutex_);
    link.swap(link_);
    if (has_failed_) return;
    missing_.clear();
    unsent_.clear();
    next_ = reserved_ + 1;
    bytes_ = 0;
    waiting.swap(waiting_);
  }
  for (const Waiting& one : waiting) one.what();
}

void Backup::stop() {
  std::lock_guard guard(mutex_);
  has_failed_ = true;
}

bool Backup::is_there() const {
  std::lock_guard guard(mutex_);
  return link_ != nullptr;
}

BlockPtr Backup::block_for(size_t bytes) {
  std::unique_lock lock(mutex_);
  const std::shared_ptr<Link> link = link_;
  lock.unlock();
  return link ? link->block_for(bytes) : nullptr;
}

// --- what is told ----------------------------------------------------------------------------------------------------

uint64_t Backup::reserve() {
  std::lock_guard guard(mutex_);
  ++reserved_;
  if (link_) {
    missing_.insert(reserved_);
    unsent_.emplace_back();
  } else {
    next_ = reserved_ + 1;
  }
  return reserved_;
}

void Backup::fill(uint64_t number, Told told) {
  {
    std::lock_guard guard(mutex_);
    if (number < next_) return;  // of a backup that is gone
    unsent_[number - next_] = std::move(told);
  }
  send();
}

void Backup::tell(Request request, Load load) {
  Told told;
  told.emplace_back(std::move(request), std::move(load));
  fill(reserve(), std::move(told));
}

// As far as numbers follow each other.
void Backup::send() {
  std::lock_guard in_order(order_);
  while (true) {
    std::unique_lock lock(mutex_);
    if (!link_ || unsent_.empty() || !unsent_.front()) return;
    const std::shared_ptr<Link> link = link_;
    const uint64_t number = next_++;
    Told told = std::move(*unsent_.front());
    unsent_.pop_front();
    std::vector<size_t> sizes;
    for (const auto& [request, load] : told) sizes.push_back(size_of(request, load));
    for (const size_t size : sizes) bytes_ += size;
    lock.unlock();
    for (size_t i = 0; i < told.size(); ++i)
      link->ask(std::move(told[i].first), std::move(told[i].second),
                [this, number, size = sizes[i], is_last = i + 1 == told.size()](
                    const grpc::Status& status, Reply&&, Elements&&) { hear(number, size, is_last, status); });
  }
}

// --- who waits -------------------------------------------------------------------------------------------------------

uint64_t Backup::least_missing() const { return missing_.empty() ? reserved_ + 1 : *missing_.begin(); }

void Backup::hear(uint64_t number, size_t bytes, bool is_last, const grpc::Status& status) {
  std::vector<std::function<void()>> due;
  {
    std::lock_guard guard(mutex_);
    if (!link_ || has_failed_ || !missing_.contains(number)) return;
    bytes_ -= bytes;
    has_failed_ = !status.ok();
    if (status.ok() && is_last) missing_.erase(number);
    while (!waiting_.empty() && waiting_.front().number < least_missing()) {
      due.push_back(std::move(waiting_.front().what));
      waiting_.pop_front();
    }
  }
  if (!status.ok()) return failed_(status.error_message());
  history::pass("kept");
  for (const std::function<void()>& what : due) what();
}

void Backup::after(std::function<void()> what) {
  {
    std::lock_guard guard(mutex_);
    if (has_failed_) return;
    if (!missing_.empty()) return waiting_.push_back({reserved_, std::move(what)});
  }
  what();
}

bool Backup::is_full() const {
  std::lock_guard guard(mutex_);
  return bytes_ > kMostOnTheirWay;
}

}  // namespace headrace::distributed
