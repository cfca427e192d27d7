#include "distributed/room.h"

#include <fmt/format.h>

#include "base/interruption.h"
#include "distributed/long_waits.h"

namespace headrace::distributed {

std::shared_ptr<Room::Cargo> Room::book(size_t bytes) {
  std::unique_lock lock(mutex_);
  if (!fits(bytes)) {
    const LongWait told([this, bytes] {
      return fmt::format(
          "kvstore push: {} bytes wait until servers have taken some of the {} before them; the servers, or the links, "
          "are slower than what is pushed; HEADRACE_MAX_UNANSWERED_MB says how much may be on its way",
          bytes, bytes_);
    });
    while (changed_.wait_for(lock, patience_, [&] { return fits(bytes) || sent_ > 0; }) && !fits(bytes))
      interruptible_wait(changed_, lock, [&] { return fits(bytes) || sent_ == 0; });
  }
  booked_ += bytes;
  return std::make_shared<Cargo>(shared_from_this(), bytes);
}

void Room::Cargo::sent() {
  std::lock_guard guard(room_->mutex_);
  is_sent_ = true;
  room_->sent_ += bytes_;
  room_->changed_.notify_all();
}

Room::Cargo::~Cargo() {
  std::lock_guard guard(room_->mutex_);
  if (is_sent_) room_->sent_ -= bytes_;
  room_->booked_ -= bytes_;
  room_->changed_.notify_all();
}

}  // namespace headrace::distributed
