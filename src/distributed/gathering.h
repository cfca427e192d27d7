// Gathering: who takes part in a job, as the scheduler knows it. A node has a seat, which it keeps when its stream
// breaks and another one comes in time. Any thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "distributed/job.h"
#include "distributed/protocol.grpc.pb.h"

namespace headrace::distributed {

// The open stream to a node.
class Listener {
 public:
  // Nothing is told after finish().
  virtual void tell(Notice notice) = 0;
  // After what it was told.
  virtual void finish() = 0;

 protected:
  ~Listener() = default;
};

class Gathering {
 public:
  explicit Gathering(const Job& job)
      : job_(job),
        workers_(static_cast<size_t>(job.workers)),
        servers_(static_cast<size_t>(job.servers) * static_cast<size_t>(job.replicas)) {}

  // A stream begins. It leaves before it ends.
  void enter(Listener& stream, const Node& node);
  // It is broken or closed. Calls after the first change nothing.
  void leave(Listener& stream);
  // The node with this token is going to end.
  void expect_end(uint64_t token);
  // The backup of a server has all that this one has, and may take its place.
  void take_copied(const Copied& copied);
  // A worker comes to a barrier; it is answered when all have, or cannot. Who comes again is answered anew.
  void meet(const Arrival& arrival, grpc::ServerUnaryReactor* reactor);

  // Waits until the job is over. Raises RuntimeError when it could not begin.
  void await_end();

 private:
  using Clock = std::chrono::steady_clock;
  struct Seat {
    Node node;
    uint32_t rank = 0;
    uint64_t incarnation = 0;
    std::vector<Notice> told = {};
    Listener* stream = nullptr;  // null: it is away
    Clock::time_point away_since = {};
    uint64_t met = 0;                             // barriers that all had come to before it came
    bool is_leaving = false;                      // it has said so
    bool is_gone = false;                         // it does not take part any more
    grpc::ServerUnaryReactor* meeting = nullptr;  // it waits at a barrier
  };

  // Who serves as a server of one number, and who stands by.
  struct Part {
    uint64_t epoch = 0;
    Seat* primary = nullptr;
    Seat* backup = nullptr;  // null: none
    bool is_copied = true;   // it may take the place of the other
  };

  // --- these: mutex_ is locked ---
  std::vector<Seat*>& seats_of(NodeRole role) { return role == WORKER ? workers_ : servers_; }
  static size_t count(const std::vector<Seat*>& seats);
  bool is_complete() const;
  std::string reason_against(const Node& node);
  void seat(Listener& stream, const Node& node);
  void welcome(Seat& seat, Listener& stream);
  static void tell(Seat& seat, const Notice& notice);
  static void refuse(Listener& stream, const std::string& reason);
  void refuse_all(const std::string& reason);
  Notice cluster_for(const Seat& seat) const;
  void begin();
  void place_replicas();
  std::vector<Seat*>::iterator free_place(const Node& node);
  void join(Seat& seat);
  void tell_all(const Notice& notice);
  Serving serving(size_t server) const;
  Notice notice_of(size_t server) const;
  bool pass_on(const Seat& seat);
  std::chrono::milliseconds time_away(const Seat& seat) const;
  void give_up(Seat& seat);
  void tell_departure(Seat& seat);
  void review_meeting();
  void answer_meeting(const grpc::Status& status);
  // --- gathering_elastic.cc: workers that come and go ---
  // Whether they do so while the job runs.
  bool is_open() const { return has_begun_ && job_.elastic.is_on() && is_asynchronous_; }
  std::string reason_against_joining(const Node& node) const;
  std::vector<Seat*>::iterator place_to_join(const Node& node);
  bool is_left(const Node& node) const;
  void forget_place(const Seat& seat);
  size_t places() const;
  void tell_crowd();
  void tell_launcher() const;
  void join_workers(Seat& seat);
  void leave_workers(const Seat& seat);

  // Those who are away and do not come back are given up; whether others may.
  bool review_away();
  bool await(std::unique_lock<std::mutex>& lock, Clock::time_point deadline, const std::function<bool()>& is_so);

  const Job& job_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<Listener*> streams_;
  std::map<uint64_t, Seat> seats_;        // by token
  std::vector<Seat*> workers_, servers_;  // by rank; null where nobody is. Those that stand by are the last servers
  std::vector<Part> parts_;               // by number of the server, when the job has begun
  std::vector<Notice> departures_;        // of workers whose places are free
  std::string refusal_, missing_;
  bool has_begun_ = false, is_over_ = false;
  uint64_t meetings_ = 0;  // barriers that all have come to
  int departed_ = 0;       // workers
  uint64_t last_incarnation_ = 0;
  bool is_asynchronous_ = false;  // as the worker said that came first
};

}  // namespace headrace::distributed
