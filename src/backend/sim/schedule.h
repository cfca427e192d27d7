// The events behind the virtual machine, whose comment says what the model is. One thread at a time.
//
// The simulation is never ahead of the frontend's clock, since what the frontend pushes later may change what streams
// choose later; nor far behind, since what has ended needs no memory.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <string_view>
#include <vector>

#include "backend/sim/accesses.h"
#include "backend/sim/critical_path.h"
#include "backend/sim/machine.h"
#include "backend/sim/streams.h"
#include "backend/sim/virtual_report.h"
#include "backend/sim/virtual_timeline.h"
#include "base/function_ref.h"
#include "device/flows.h"
#include "device/observer.h"

namespace headrace::sim {

class Schedule {
 public:
  // `machine` outlives it.
  explicit Schedule(const Machine& machine);

  // These raise ValueError; VirtualMachine says when.
  void push(const PushedWork& work);
  void wait(const void* resource, bool for_all);
  void wait_all();
  void forget(const void* resource) { accesses_.forget(resource); }
  void advance(int64_t ps);
  void stall(int gpu, int64_t ps);
  void forget_stalls() noexcept;
  int64_t now_ps() const noexcept { return clock_; }
  VirtualReport report();

 private:
  using Node = CriticalPath::Node;
  static constexpr uint64_t kNone = 0, kAny = ~uint64_t{0};  // no numbers of operations

  struct Work {
    uint64_t number = kNone;  // kNone: this place is free
    const char* name;
    int stream;
    int priority;
    bool is_copy;
    int waiting = 1;      // predecessors that have not ended, and 1 until it has arrived
    int first_edge = -1;  // to those that wait for it
    Node cause;           // what it waited for last, so far; held
    uint64_t bytes;       // of a copy
    int64_t duration_ps;  // of a copy: until its bytes flow
    int64_t push_ps;
    int64_t ready_ps = 0, begin_ps = 0, flow_ps = 0;
  };
  struct Edge {
    int to, next;
  };
  struct Ready {
    int priority;
    uint64_t number;
    int slot;
    friend bool operator<(const Ready& a, const Ready& b) {  // is less urgent
      return a.priority != b.priority ? a.priority < b.priority : a.number > b.number;
    }
  };
  struct Timed {
    int64_t at;
    int slot;
    friend bool operator>(const Timed& a, const Timed& b) { return a.at > b.at; }
  };
  using TimedQueue = std::priority_queue<Timed, std::vector<Timed>, std::greater<>>;
  struct Stream {
    std::priority_queue<Ready> ready;
    bool runs = false;
    int64_t free_ps = 0;                   // since when nothing runs
    Node last = CriticalPath::kBeginning;  // what ran last, if something did; held then
    std::optional<Route> route;            // of copies; found when the first comes
    int64_t stall_ps = 0;                  // before the next work begins
    int64_t busy_ps = 0, operations = 0;
  };

  // Building.
  int stream_of(const PushedWork& work) const;
  bool is_copy(int stream) const;
  const Route& route_of(int stream);
  int64_t duration(const PushedWork& work, int stream);
  int new_slot();
  void follow(int slot, WorkRef before);
  bool ended(WorkRef work) const noexcept { return work.number == kNone || works_[work.slot].number != work.number; }

  // Time. See run().
  static void check_time(std::string_view what, double ps);
  void run(int64_t limit_ps, FunctionRef<bool()> done);
  void catch_up();
  // The frontend waits; `watched`: the operation that it waits for, or kAny.
  void wait_until(uint64_t watched, FunctionRef<bool()> done);
  void end_and_arrive();
  void begin_ready();
  void start_next(Stream& stream);
  int make_stall(Stream& stream);
  int64_t next_event() const;
  void pass_to(int64_t moment);
  void arrive_at(int slot);
  void finish(int slot);
  // `held` goes back to `to` from now on.
  void replace(Node& held, Node to);

  const Machine& machine_;
  const StreamNumbers numbers_;
  const int64_t push_ps_;
  VirtualTimeline timeline_;
  Accesses accesses_;
  CriticalPath path_;

  int64_t clock_ = 0;  // of the frontend
  int64_t waiting_ps_ = 0;
  Node frontend_ = CriticalPath::kBeginning;  // what it waited for last; held

  int64_t now_ = 0;  // of the simulation; at most clock_ between calls
  uint64_t pushed_ = 0;
  int64_t pending_ = 0;
  std::vector<Work> works_;
  std::vector<int> free_works_;
  std::vector<Edge> edges_;
  std::vector<int> free_edges_;
  std::vector<Stream> streams_;
  std::vector<int> idle_;     // streams that may have something to begin
  std::deque<int> arrivals_;  // in the order of pushing
  TimedQueue ends_, departures_;
  Flows flows_;
  std::vector<int> ended_;  // of one moment

  uint64_t watched_ = kNone;  // while the frontend waits; see wait_until()
  Node blocker_ = -1;         // while the frontend waits: which of the watched ended last; held
  int running_ = 0;
  int64_t busy_ps_ = 0, overlapping_ps_ = 0;
};

}  // namespace headrace::sim
