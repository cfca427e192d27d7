// Gathering: who takes part in a job, as the scheduler knows it. A node has a seat, which it keeps when its stream
// breaks and another one comes in time. Any thread.
//
// Where a Keeper is given, nobody is told of what it has not kept yet, and another scheduler goes on with that.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "distributed/departures.h"
#include "distributed/gathering.pb.h"
#include "distributed/job.h"
#include "distributed/protocol.grpc.pb.h"

namespace headrace::distributed {

// The open stream to a node.
class Listener {
 public:
  // Nothing is told after finish().
  virtual void tell(Notice notice) = 0;
  // After what it was told.
  virtual void finish(const grpc::Status& status) = 0;

 protected:
  ~Listener() = default;
};

// What is told to a node that asks a scheduler which does not lead: it goes to another one.
grpc::Status not_leading();

// What a gathering must not forget.
struct Kept {
  GatheringState state;
  uint64_t meetings = 0;
};

class Keeper {
 public:
  // Until it is kept. False: another scheduler decides from now on. Called by one thread.
  virtual bool keep(const Kept& kept) = 0;

 protected:
  ~Keeper() = default;
};

class Gathering {
 public:
  // The job outlives it.
  explicit Gathering(const Job& job) : Gathering(job, nullptr) {}
  explicit Gathering(Job&& job) = delete;
  // Goes on with what another one has kept. `keeper` is there until await_end() has returned.
  Gathering(const Job& job, const Kept& kept, Keeper& keeper);
  ~Gathering();

  // A stream begins. It leaves before it ends.
  void enter(Listener& stream, const Node& node);
  // It is broken or closed. Calls after the first change nothing.
  void leave(Listener& stream);
  // The node with this token is going to end; it is answered when that is known for good.
  void expect_end(uint64_t token, grpc::ServerUnaryReactor* reactor);
  // The backup of a server has all that this one has, and may take its place.
  void take_copied(const Copied& copied);
  // A worker comes to a barrier; it is answered when all have, or cannot. Who comes again is answered anew.
  void meet(const Arrival& arrival, grpc::ServerUnaryReactor* reactor);

  // A worker waits for others. It is told when they wait for each other for ever.
  void stand(const Standing& standing);

  // Waits until the job is over; false: until another scheduler decides. Raises RuntimeError when the job could not
  // begin, for which all nodes have to come in time, and what the keeper raises.
  bool await_end(std::chrono::milliseconds time_to_come = std::chrono::minutes(5));
  // Another scheduler decides from now on: nodes are sent there, and told nothing.
  void abandon();
  bool is_abandoned();

 private:
  Gathering(const Job& job, Keeper* keeper);

  using Clock = std::chrono::steady_clock;
  struct Seat {
    Node node;
    uint32_t rank = 0;
    uint64_t incarnation = 0;
    bool has_joined = false;     // the job had begun
    size_t joined_at = 0;        // what the log had before
    Listener* stream = nullptr;  // null: it is away
    Clock::time_point away_since = {};
    uint64_t met = 0;                             // barriers that all had come to before it came
    bool is_leaving = false;                      // it has said so
    bool is_gone = false;                         // it does not take part any more
    grpc::ServerUnaryReactor* meeting = nullptr;  // it waits at a barrier
    Standing standing = {};                       // what it waits for, as it has said
    Clock::time_point stands_since = {}, said_at = {}, said_before = {};
    std::string verdict = {};  // why it waits for ever
  };

  // Who serves as a server of one number, and who stands by.
  struct Part {
    uint64_t epoch = 0;
    Seat* primary = nullptr;
    Seat* backup = nullptr;  // null: none
    bool is_copied = true;   // it may take the place of the other
  };

  // What is said when what it rests on is kept; false: that is not.
  using Saying = std::function<void(bool is_kept)>;

  // --- these: mutex_ is locked ---
  std::vector<Seat*>& seats_of(NodeRole role) { return role == WORKER ? workers_ : servers_; }
  static std::string text_of(const Seat& seat);
  static size_t count(const std::vector<Seat*>& seats);
  bool is_complete() const;
  std::string text_of_absent() const;
  void admit(Listener& stream, const Node& node);
  std::string reason_against(const Node& node);
  void seat(Listener& stream, const Node& node);
  void welcome(Seat& seat, Listener& stream);
  void say(Listener& stream, Notice notice);
  void say_last(Listener& stream);
  void answer(grpc::ServerUnaryReactor* reactor, const grpc::Status& status);
  void settle();
  void refuse(Listener& stream, const std::string& reason);
  void refuse_all(const std::string& reason);
  Notice cluster_for(const Seat& seat) const;
  std::vector<Notice> told(const Seat& seat) const;
  void begin();
  void place_replicas();
  std::vector<Seat*>::iterator free_place(const Node& node);
  void join(Seat& seat);
  void tell_all(const Notice& notice);
  Serving serving(size_t server) const;
  Notice notice_of(size_t server) const;
  bool pass_on(const Seat& seat);
  Seat* other_of(const Seat& seat) const;
  // Whether the other process of a server is there.
  bool has_stand_in(const Seat& seat) const;
  std::chrono::milliseconds least_time_away() const;
  std::chrono::milliseconds time_away(const Seat& seat) const;
  void give_up(Seat& seat);
  void tell_departure(const Seat& seat);
  void note_missing(const Departure& departure);
  void meet(Seat& seat, grpc::ServerUnaryReactor* reactor);
  void review_meeting();
  void answer_meeting(const grpc::Status& status);
  // --- gathering_standing.cc: workers that wait for each other ---
  std::vector<Seat*> waiting_for_ever() const;
  void tell_verdict(Seat& seat);
  bool awaits_one_of(const Seat& seat, std::span<Seat* const> others) const;
  // --- gathering_elastic.cc: workers that come and go ---
  // Whether they do so while the job runs.
  bool is_open() const { return has_begun_ && job_.elastic.is_on() && is_asynchronous_; }
  std::string reason_against_joining(const Node& node) const;
  std::vector<Seat*>::iterator place_to_join(const Node& node);
  bool is_left(const Node& node) const;
  // Whether a worker has to come again, to the job that begins anew.
  bool comes_again(const Node& node);
  size_t asking();
  // Whether those are missing that have asked for this beginning; not for ever.
  bool awaits_workers();
  void forget_place(const Seat& seat);
  size_t places() const;
  std::vector<Notice> departed_before(uint64_t incarnation) const;
  void tell_crowd();
  void tell_launcher();
  void join_workers(Seat& seat);
  void leave_workers(const Seat& seat);

  // Those who are away and do not come back are given up; whether others may.
  bool review_away();
  bool await(std::unique_lock<std::mutex>& lock, Clock::time_point deadline, const std::function<bool()>& is_so);
  void await_departures(std::unique_lock<std::mutex>& lock);
  GatheringState state() const;
  void restore(const Kept& kept);
  void restore_departures();
  // --- these: not ---
  void keep_all();
  void stop_keeping();

  const Job& job_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Listener*, uint64_t> streams_;  // and their numbers
  uint64_t last_stream_ = 0;
  Keeper* const keeper_;  // these: see keep_all()
  std::vector<Saying> sayings_;
  bool is_changed_ = false;
  bool is_abandoned_ = false, is_keeping_ = false;
  std::exception_ptr error_;
  // --- these: kept ---
  std::map<uint64_t, Seat> seats_;        // by token
  std::vector<Seat*> workers_, servers_;  // by rank; null where nobody is. Those that stand by are the last servers
  std::vector<Part> parts_;               // by number of the server, when the job has begun
  std::vector<Serving> begun_;            // as it was then
  std::vector<Notice> log_;               // what all have been told since
  bool has_begun_ = false;
  bool is_asynchronous_ = false;  // as the worker said that came first
  uint64_t meetings_ = 0;         // barriers that all have come to
  // --- these: not ---
  bool is_over_ = false;
  std::string refusal_;
  std::string missing_;                                        // which worker departed last
  std::map<uint64_t, Clock::time_point> asking_;               // by token: when it has asked last
  Clock::time_point awaits_since_ = Clock::time_point::max();  // all others have been there
  uint64_t last_incarnation_ = 0;
  Departures departures_;  // of workers, when the job has begun
  std::thread keeping_;
};

}  // namespace headrace::distributed
