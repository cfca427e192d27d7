// Gang calls: those that the accelerator of this rank carries out with those of the other ranks, one after the other in
// the order in which the ranks have agreed on them. A call is over here when the device has it; what follows waits on
// the device. Belongs to the thread of the group.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "collective/agreement.h"
#include "device/rank_gang.h"

namespace headrace::collective {

struct Request;

class GangCalls {
 public:
  // What the other ranks are to hear.
  using Tell = std::function<void(Event)>;
  using Complete = std::function<void(Request&, std::optional<CallFailure>)>;
  GangCalls(Tell tell, Complete complete) : tell_(std::move(tell)), complete_(std::move(complete)) {}

  // Once: begins to connect the accelerator with those of the others, which are told whether that succeeds.
  void connect(RankGang& gang, const std::string& meeting_point, int rank, int size);
  // The ranks have agreed to do without, because of this.
  void give_up(const std::string& why);
  void add(std::shared_ptr<Request> request);
  // Does what can be done without waiting; whether that was anything.
  bool advance();
  // Has to be advanced, though nobody says when.
  bool is_moving() const noexcept { return is_connecting_ || begun_ || !waiting_.empty(); }
  // Ranks may wait for each other.
  bool is_busy() const noexcept { return is_moving() || is_troubled_ || (gang_ && !gang_->is_idle()); }
  // All calls fail because of this.
  void abort(const std::string& why);
  // Behind the last call; waits until the library has let the others go.
  void leave();

 private:
  void fail_to_connect(const std::string& why);
  void begin_next();
  void break_down(const std::string& why);

  const Tell tell_;
  const Complete complete_;
  RankGang* gang_ = nullptr;  // null: not connected, nor about to be
  size_t ranks_ = 1;
  bool is_connecting_ = false;
  bool is_troubled_ = false;        // the others are told
  std::shared_ptr<Request> begun_;  // it may not be on the device yet
  std::deque<std::shared_ptr<Request>> waiting_;
};

}  // namespace headrace::collective
