// Group: the processes that work together, as one of them sees it. Programs and tasks announce calls and wait for them;
// a thread of the group agrees with those of the other ranks on what goes next, and is the only one that uses the wire.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "collective/agreement.h"
#include "collective/gang_calls.h"
#include "collective/transfers.h"

namespace headrace::collective {

// A call of this rank. Any thread.
struct Request {
  Request(std::string name_of_call, uint64_t place_of_call) : name(std::move(name_of_call)), place(place_of_call) {}

  const std::string name;
  const uint64_t place;  // among the calls of that name
  Work work = {};        // of a call that is ready
  enum Stage : uint32_t { kWaits, kIsWantedOnHost, kIsOver };
  std::atomic<uint32_t> stage{kWaits};
  std::optional<CallFailure> failure = {};  // these two: before it is over
  RankGang::CallPtr gang_call = nullptr;    // of what the accelerator does; null: the host did it
};
using RequestPtr = std::shared_ptr<Request>;

// Outlives the tasks that call it.
class Group {
 public:
  using Open = std::function<std::unique_ptr<Wire>()>;
  // `open` makes the wire, in the thread of the group. Raises what it raises.
  explicit Group(Open open);
  ~Group() { end({}); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  const Machines& machines() const noexcept { return *machines_; }
  // 0, 1, 2 ...: programs make what needs names of its own in one order on all ranks.
  int take_number() noexcept { return numbers_++; }

  // What may carry out calls with an array of the device, if all ranks have such a one: the accelerator of the first
  // such array on this rank. Null: it passes through the memory of the host. Any thread.
  RankGang* gang_for(Device device);

  // Says that this rank makes a call. `call` is what all ranks have to agree in. Calls with an empty name are made in
  // one order on all ranks. Who has announced one says later that it is ready, or has failed. Raises RuntimeError where
  // no call can succeed any more, and in a process that was forked from that of the group.
  RequestPtr announce(std::string name, std::string call);
  void ready(const RequestPtr& request, Work work, int urgency);
  void fail(const RequestPtr& request, CallFailure failure);
  // Until the call is over. Raises its error. A thread that may be interrupted leaves the call to the others.
  void wait(Request& request);
  // For a call whose values are on the accelerator: until it is over, or until they are wanted in the memory of the
  // host, for which ready() has to be called again: true.
  bool is_wanted_on_host(Request& request);
  // All of it, for a call whose values are there.
  void run(const std::string& name, std::string call, Work work);
  // A call that moves nothing, and for which nobody waits: where other ranks make another one, all calls fail that are
  // not over.
  void state(std::string name, std::string call);

  // This rank has no more data. Waits until another rank makes a call that this one has not made, and says true: this
  // one makes the same, and comes back. False: all ranks are here, after the same calls. Raises as announce(), and
  // RuntimeError for who comes back without a call.
  bool others_go_on();

  // After the last call; waits until all ranks have come here, unless the wire outlasts them, after which there is
  // none. With a failure: that of this process, which the others are told; those that go on all the same are ended.
  // Once.
  void end(std::optional<CallFailure> failure);

 private:
  using Clock = std::chrono::steady_clock;

  RequestPtr announce_as(Event::What what, std::string name, std::string call);

  // --- the thread of the group ---
  void live(const Open& open, std::function<void(std::exception_ptr)> opened);
  void work();
  void give_up(const CallFailure& failure);
  void take_events();
  bool agree();
  bool waits_for_others() const;
  bool wants_to_agree() const;
  bool program_waits() const;
  void start_cycle();
  void agree_alone();
  bool end_cycle();
  void conclude();
  void answer_join();
  void follow_gang();
  void carry_out(const Decision& decision);
  static void complete(Request& request, std::optional<CallFailure> failure);
  void await_news(std::unique_lock<std::mutex>& lock, Clock::duration idle);
  void fail_all(const CallFailure& failure);
  void rest(Clock::duration idle);
  void leave();
  bool is_over();
  void finish();
  bool may_go();

  const int process_;
  int rank_ = 0, size_ = 1;  // after the constructor nobody changes these
  std::optional<Machines> machines_;
  std::atomic<int> numbers_{0};

  const std::shared_ptr<std::atomic<int>> waiting_ = std::make_shared<std::atomic<int>>(0);  // threads of the program

  std::mutex gang_mutex_;                     // before mutex_
  bool has_offered_ = false;                  // guarded by gang_mutex_
  std::atomic<RankGang*> gang_{nullptr};      // set under gang_mutex_; null: this rank has none
  std::atomic<bool> is_gang_refused_{false};  // by all ranks

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::deque<RequestPtr>> requests_;  // these: guarded by mutex_; without those that are over
  std::map<std::string, uint64_t> announced_;               // how many by name
  std::vector<Event> events_;                               // nobody has heard of
  bool has_wire_news_ = false;
  std::optional<CallFailure> broken_;
  bool has_ended_ = false;
  enum class Join : uint8_t { kNone, kAsked, kIsBehind, kIsOver } join_ = Join::kNone;
  bool was_behind_ = false;  // at the last join(), since which this rank has made no call

  // Of the thread alone.
  std::unique_ptr<Wire> wire_;
  bool tells_news_ = false;  // the wire does
  std::unique_ptr<Agreement> agreement_;
  std::unique_ptr<Transfers> transfers_;
  GangCalls gang_calls_;
  bool has_connected_ = false;     // it has begun to
  size_t ready_ = 0;               // calls that are ready here, and on which nobody has decided
  std::deque<RequestPtr> moving_;  // on which all have decided, as the transfers have them
  bool is_ending_ = false, is_finished_ = false;
  bool tells_end_ = false, is_end_told_ = false;  // by the present block; the wire has it
  bool is_joining_ = false, is_join_told_ = false;
  uint64_t joined_ = 0;  // of the agreement, when the last join() was over
  std::optional<CallFailure> own_failure_;
  std::vector<Event> untold_;
  std::vector<std::byte> block_, blocks_;  // of this rank; of all in a cycle
  std::vector<size_t> sizes_;
  bool has_long_blocks_ = false;
  TransferPtr cycle_;
  Clock::duration pace_{};
  Clock::time_point next_cycle_, last_news_;
  std::optional<Clock::time_point> last_moment_;

  std::thread thread_;  // the last: it uses what is above
};

}  // namespace headrace::collective
