// Room: how much of what a worker pushes may be without an answer. A server that is slow slows down who pushes, so that
// what is on its way does not fill the memory of either. Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>

namespace headrace::distributed {

class Room : public std::enable_shared_from_this<Room> {
 public:
  // `patience`: after so long in which nothing is at the servers nobody waits for room any more: what was booked may
  // need who waits before it can be sent.
  explicit Room(size_t bytes, std::chrono::milliseconds patience = std::chrono::seconds(1))
      : bytes_(bytes), patience_(patience) {}

  // What will be pushed. It takes room until this ends: when it is answered, or will not be sent.
  class Cargo {
   public:
    Cargo(std::shared_ptr<Room> room, size_t bytes) : room_(std::move(room)), bytes_(bytes) {}
    ~Cargo();
    Cargo(const Cargo&) = delete;
    Cargo& operator=(const Cargo&) = delete;

    // It is at the server from now on, whose answer waits for nobody else. Once.
    void sent();

   private:
    const std::shared_ptr<Room> room_;
    const size_t bytes_;
    bool is_sent_ = false;
  };

  // Waits until it fits beside what was booked before, or nothing else was.
  std::shared_ptr<Cargo> book(size_t bytes);

 private:
  bool fits(size_t bytes) const noexcept { return booked_ == 0 || booked_ + bytes <= bytes_; }

  const size_t bytes_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t booked_ = 0;  // these: guarded by mutex_
  size_t sent_ = 0;    // of these
};

}  // namespace headrace::distributed
