// MemoryWire: a wire between ranks that are threads of one process, for tests of groups.
#pragma once

#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

#include "tests/support/brief_group.h"

namespace headrace::collective {

// What the ranks share. A transfer happens when the last member of its lane has begun it.
class Exchanges {
 public:
  // By rank, the number of its machine.
  explicit Exchanges(std::vector<int> machines) : machines_(std::move(machines)) {}

  const std::vector<int>& machines() const noexcept { return machines_; }

  struct Meeting {
    std::vector<std::function<void(const std::vector<const std::byte*>&)>> receive;  // by rank
    std::vector<const std::byte*> given;
    size_t arrived = 0;
    std::atomic<bool> is_over{false};
  };
  using MeetingPtr = std::shared_ptr<Meeting>;

  // A member begins its transfer number `number` of a lane: gives memory, and says how it reads that of all.
  MeetingPtr meet(Lane lane, uint64_t number, const std::vector<int>& members, size_t place, const std::byte* given,
                  std::function<void(const std::vector<const std::byte*>&)> receive) {
    std::lock_guard guard(mutex_);
    const Key key{lane, members.front(), number};
    MeetingPtr& meeting = meetings_[key];
    if (!meeting) {
      meeting = std::make_shared<Meeting>();
      meeting->receive.resize(members.size());
      meeting->given.resize(members.size());
    }
    const MeetingPtr own = meeting;
    own->given[place] = given;
    own->receive[place] = std::move(receive);
    if (++own->arrived == members.size()) {
      for (const auto& read : own->receive) read(own->given);
      meetings_.erase(key);
      own->is_over = true;
    }
    return own;
  }

 private:
  using Key = std::tuple<Lane, int, uint64_t>;

  const std::vector<int> machines_;
  std::mutex mutex_;
  std::map<Key, MeetingPtr> meetings_;
};

class MemoryWire final : public Wire {
 public:
  MemoryWire(Exchanges& exchanges, int rank) : exchanges_(exchanges), machines_(exchanges.machines(), rank) {}

  int rank() const noexcept override { return machines_.rank(); }
  int size() const noexcept override { return static_cast<int>(exchanges_.machines().size()); }
  const Machines& machines() const noexcept override { return machines_; }

  TransferPtr scatter(Lane lane, const std::byte* own, std::span<const size_t> sizes, std::byte* all) override {
    const size_t place = machines_.place(lane), size = sizes[place];
    size_t before = 0;
    for (size_t other = 0; other < place; ++other) before += sizes[other];
    return begin(lane, own, [=](const std::vector<const std::byte*>& given) {
      for (size_t other = 0; other < given.size(); ++other)
        if (other != place && size > 0) std::memcpy(all + other * size, given[other] + before, size);
    });
  }

  TransferPtr gather(Lane lane, std::byte* all, std::span<const size_t> sizes) override {
    return begin(lane, all,
                 [place = machines_.place(lane), all,
                  parts = std::vector<size_t>(sizes.begin(), sizes.end())](const std::vector<const std::byte*>& given) {
                   size_t offset = 0;
                   for (size_t other = 0; other < given.size(); offset += parts[other++])
                     if (other != place && parts[other] > 0)
                       std::memcpy(all + offset, given[other] + offset, parts[other]);
                 });
  }

  TransferPtr broadcast(std::byte* data, size_t size, int root) override {
    return begin(Lane::kGather, data, [=, this](const std::vector<const std::byte*>& given) {
      const auto from = static_cast<size_t>(root);
      if (root != rank() && size > 0) std::memcpy(data, given[from], size);
    });
  }

  void abort(const std::string& why) override {
    std::fprintf(stderr, "rank %d: %s\n", rank(), why.c_str());
    std::abort();
  }

 private:
  struct Meeting final : Transfer {
    explicit Meeting(Exchanges::MeetingPtr with) : meeting(std::move(with)) {}
    bool is_done() override { return meeting->is_over; }
    const Exchanges::MeetingPtr meeting;
  };

  TransferPtr begin(Lane lane, const std::byte* given,
                    std::function<void(const std::vector<const std::byte*>&)> receive) {
    return std::make_unique<Meeting>(exchanges_.meet(lane, numbers_[static_cast<size_t>(lane)]++,
                                                     machines_.members(lane), machines_.place(lane), given,
                                                     std::move(receive)));
  }

  Exchanges& exchanges_;
  const Machines machines_;
  std::array<uint64_t, kLanes> numbers_{};
};

// Calls `body(group)` in a thread for each rank, on the machine of that number, and raises again what the first of them
// raised.
inline void on_machines(const std::vector<int>& machines, const std::function<void(Group& group)>& body) {
  Exchanges exchanges(machines);
  const auto size = static_cast<int>(machines.size());
  std::vector<std::exception_ptr> errors(machines.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        BriefGroup group([&] { return std::make_unique<MemoryWire>(exchanges, rank); });
        body(group);
      } catch (...) {
        errors[static_cast<size_t>(rank)] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

// The same where all are on one.
inline void on_groups(int size, const std::function<void(Group& group)>& body) {
  on_machines(std::vector<int>(static_cast<size_t>(size)), body);
}

}  // namespace headrace::collective
