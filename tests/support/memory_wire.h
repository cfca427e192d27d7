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
#include <vector>

#include "collective/group.h"

namespace headrace::collective {

// What the ranks share. A transfer happens when the last of them has begun it.
class Exchanges {
 public:
  explicit Exchanges(int size) : size_(static_cast<size_t>(size)) {}

  size_t size() const noexcept { return size_; }

  struct Meeting {
    std::vector<std::function<void(const std::vector<const std::byte*>&)>> receive;  // by rank
    std::vector<const std::byte*> given;
    size_t arrived = 0;
    std::atomic<bool> is_over{false};
  };
  using MeetingPtr = std::shared_ptr<Meeting>;

  // Rank `rank` begins its transfer number `number` of a lane: gives memory, and says how it reads that of all.
  MeetingPtr meet(Lane lane, uint64_t number, size_t rank, const std::byte* given,
                  std::function<void(const std::vector<const std::byte*>&)> receive) {
    std::lock_guard guard(mutex_);
    MeetingPtr& meeting = meetings_[{lane, number}];
    if (!meeting) {
      meeting = std::make_shared<Meeting>();
      meeting->receive.resize(size_);
      meeting->given.resize(size_);
    }
    const MeetingPtr own = meeting;
    own->given[rank] = given;
    own->receive[rank] = std::move(receive);
    if (++own->arrived == size_) {
      for (const auto& read : own->receive) read(own->given);
      meetings_.erase({lane, number});
      own->is_over = true;
    }
    return own;
  }

 private:
  const size_t size_;
  std::mutex mutex_;
  std::map<std::pair<Lane, uint64_t>, MeetingPtr> meetings_;
};

class MemoryWire final : public Wire {
 public:
  MemoryWire(Exchanges& exchanges, int rank) : exchanges_(exchanges), rank_(static_cast<size_t>(rank)) {}

  int rank() const noexcept override { return static_cast<int>(rank_); }
  int size() const noexcept override { return static_cast<int>(exchanges_.size()); }
  int local_rank() const noexcept override { return rank(); }
  int local_size() const noexcept override { return size(); }

  TransferPtr scatter(const std::byte* own, std::span<const size_t> sizes, std::byte* all) override {
    size_t before = 0;
    for (size_t rank = 0; rank < rank_; ++rank) before += sizes[rank];
    return begin(Lane::kScatter, own, [=, this, size = sizes[rank_]](const std::vector<const std::byte*>& given) {
      for (size_t rank = 0; rank < given.size(); ++rank)
        if (rank != rank_ && size > 0) std::memcpy(all + rank * size, given[rank] + before, size);
    });
  }

  TransferPtr gather(Lane lane, std::byte* all, std::span<const size_t> sizes) override {
    return begin(lane, all, [this, all, parts = std::vector<size_t>(sizes.begin(), sizes.end())](const auto& given) {
      size_t offset = 0;
      for (size_t rank = 0; rank < given.size(); offset += parts[rank++])
        if (rank != rank_ && parts[rank] > 0) std::memcpy(all + offset, given[rank] + offset, parts[rank]);
    });
  }

  TransferPtr broadcast(std::byte* data, size_t size, int root) override {
    return begin(Lane::kGather, data, [=, this](const std::vector<const std::byte*>& given) {
      const auto from = static_cast<size_t>(root);
      if (from != rank_ && size > 0) std::memcpy(data, given[from], size);
    });
  }

  void abort(const std::string& why) override {
    std::fprintf(stderr, "rank %zu: %s\n", rank_, why.c_str());
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
    return std::make_unique<Meeting>(
        exchanges_.meet(lane, numbers_[static_cast<size_t>(lane)]++, rank_, given, std::move(receive)));
  }

  Exchanges& exchanges_;
  const size_t rank_;
  std::array<uint64_t, kLanes> numbers_{};
};

// Calls `body(group)` in a thread for each rank, and raises again what the first of them raised.
inline void on_groups(int size, const std::function<void(Group& group)>& body) {
  Exchanges exchanges(size);
  std::vector<std::exception_ptr> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        Group group([&] { return std::make_unique<MemoryWire>(exchanges, rank); });
        body(group);
      } catch (...) {
        errors[static_cast<size_t>(rank)] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace headrace::collective
