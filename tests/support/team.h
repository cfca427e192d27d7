// Team: ranks that are threads of one process and exchange arrays through its memory. Written with public names alone,
// as communicators outside of the library are.
#pragma once

#include <atomic>
#include <barrier>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "headrace/communicator.hpp"
#include "headrace/devices.hpp"

namespace headrace {

class Team {
 public:
  explicit Team(int size) : meeting_(size), given_(static_cast<size_t>(size)) {}

  int size() const noexcept { return static_cast<int>(given_.size()); }
  // How often all ranks have exchanged an array.
  int exchanges() const noexcept { return exchanges_; }
  void meet() { meeting_.arrive_and_wait(); }

  // What all ranks give, in their order. Arrays of the result are nobody's else.
  std::vector<NDArray> exchange(int rank, const NDArray& own) {
    const size_t place = static_cast<size_t>(rank);
    given_[place] = copyto(own, cpu());
    meet();
    std::vector<NDArray> all;
    {
      std::lock_guard guard(lock_);
      all = given_;
    }
    if (rank == 0) ++exchanges_;
    meet();
    return all;
  }

  // Calls `body` with each rank in a thread of its own, and raises again what the first of them raised.
  void run(const std::function<void(int rank)>& body) {
    std::vector<std::exception_ptr> errors(given_.size());
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size(); ++rank)
      threads.emplace_back([&, rank] {
        try {
          body(rank);
        } catch (...) {
          errors[static_cast<size_t>(rank)] = std::current_exception();
          meeting_.arrive_and_drop();  // the others do not wait for it
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& error : errors)
      if (error) std::rethrow_exception(error);
  }

 private:
  std::barrier<> meeting_;
  std::mutex lock_;             // handles belong to one thread at a time
  std::vector<NDArray> given_;  // by rank; each written by its own before a meeting, read by all before the next
  std::atomic<int> exchanges_ = 0;
};

class TeamCommunicator final : public kvstore::HierarchicalCommunicator {
 public:
  TeamCommunicator(Team& team, int rank, std::unique_ptr<kvstore::Communicator> devices)
      : HierarchicalCommunicator(std::move(devices)), team_(team), rank_(rank) {}

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return team_.size(); }
  void barrier() override { team_.meet(); }
  void broadcast_root(const NDArray& value) override { copyto(team_.exchange(rank_, value)[0], value); }

 protected:
  void allreduce(const kvstore::Reduction& reduction, const NDArray& value) override {
    const std::vector<NDArray> all = team_.exchange(rank_, value);
    copyto(all[0], value);
    for (size_t other = 1; other < all.size(); ++other)
      reduction.combine_into(value, as_in_context(all[other], value.device()));
  }

 private:
  Team& team_;
  const int rank_;
};

}  // namespace headrace
