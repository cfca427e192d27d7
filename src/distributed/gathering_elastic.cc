// Gathering: workers of an elastic job, which come and go.

#include <algorithm>
#include <cstdio>

#include "base/check.h"
#include "distributed/gathering.h"

namespace headrace::distributed {
namespace {

constexpr std::chrono::seconds kAskingTime{5};    // who asks again comes sooner
constexpr std::chrono::seconds kAwaitedTime{20};  // within which those come back that have asked

}  // namespace

std::string Gathering::reason_against_joining(const Node& node) const {
  if (!job_.elastic.is_on())
    return "the job is not elastic: nobody joins it; start it with `python -m headrace.launch --elastic`, or "
           "HEADRACE_ELASTIC for all of its processes";
  if (node.heard() > 0)
    return "the scheduler is another one than the worker has worked with, and does not know its job";
  if (has_begun_ && !is_asynchronous_ && !job_.begins_anew)
    return "the first store of the job is synchronous, and its rounds are of the workers that were there when it "
           "began; start it with --checkpoint, from which it begins anew with others, or again with more of them";
  if (is_over_) return "the job has ended";
  if (has_begun_ && node.asynchronous() != is_asynchronous_)
    return fmt::format("the worker makes {} store first, those of the job {} one; all run the same program",
                       node.asynchronous() ? "an asynchronous" : "a synchronous",
                       is_asynchronous_ ? "an asynchronous" : "a synchronous");
  const size_t others = asking_.size() - asking_.count(node.token());
  if (count(workers_) + others >= static_cast<size_t>(job_.elastic.most) && !is_left(node))
    return fmt::format("the job has {} workers, as many as it may have; start it with a higher --elastic MIN:MAX",
                       count(workers_) + others);
  return {};
}

bool Gathering::comes_again(const Node& node) {
  if (!node.joins() || !has_begun_ || is_asynchronous_ || seats_.contains(node.token())) return false;
  asking();
  if (!refusal_.empty() || is_over_ || !reason_against(node).empty()) return false;
  asking_[node.token()] = Clock::now();
  tell_launcher();
  return true;
}

size_t Gathering::asking() {
  std::erase_if(asking_, [now = Clock::now()](const auto& one) { return now - one.second > kAskingTime; });
  return asking_.size();
}

bool Gathering::awaits_workers() {
  const int wanted = job_.workers + job_.awaited;
  if (has_begun_ || !is_complete() || count(workers_) >= static_cast<size_t>(wanted)) return false;
  const Clock::time_point now = Clock::now();
  awaits_since_ = std::min(awaits_since_, now);
  return now - awaits_since_ < kAwaitedTime;
}

// Whether somebody has the place that a worker would like to have, but is away: it is said to have ended.
bool Gathering::is_left(const Node& node) const {
  const auto wished = static_cast<size_t>(node.rank());
  return is_open() && node.rank() >= 0 && wished < workers_.size() && workers_[wished] && !workers_[wished]->stream;
}

// The one that it would like to have, if it is free or left; else the first that is free.
std::vector<Gathering::Seat*>::iterator Gathering::place_to_join(const Node& node) {
  if (is_left(node)) give_up(*workers_[static_cast<size_t>(node.rank())]);
  if (is_open() && node.rank() >= 0 && static_cast<size_t>(node.rank()) < workers_.size() &&
      !workers_[static_cast<size_t>(node.rank())])
    return workers_.begin() + node.rank();
  // Before the job begins the others ask for theirs.
  const auto first = workers_.begin() + (has_begun_ ? 0 : job_.workers);
  const auto free = std::find(first, workers_.end(), nullptr);
  return free == workers_.end() ? workers_.insert(free, nullptr) : free;
}

// Of a worker that has gone before the job has begun, and knew of no rank.
void Gathering::forget_place(const Seat& seat) {
  workers_.erase(workers_.begin() + seat.rank);
  for (size_t rank = seat.rank; rank < workers_.size(); ++rank)
    if (workers_[rank]) workers_[rank]->rank = static_cast<uint32_t>(rank);
}

// Up to the last one that is taken: what a worker that was lost was to do stays its part until another one has it.
size_t Gathering::places() const {
  const auto last = std::find_if(workers_.rbegin(), workers_.rend(), [](const Seat* one) { return one != nullptr; });
  return static_cast<size_t>(workers_.rend() - last);
}

// Workers in whose places nobody had come when an incarnation was given.
std::vector<Notice> Gathering::departed_before(uint64_t incarnation) const {
  std::vector<Notice> departed;
  for (const Notice& notice : log_) {
    const Departure& gone = notice.departure();
    if (notice.has_departure() && gone.role() == WORKER &&
        !departures_.is_replaced(gone.rank(), gone.incarnation(), incarnation))
      departed.push_back(notice);
  }
  return departed;
}

void Gathering::tell_crowd() {
  Notice notice;
  notice.mutable_crowd()->set_workers(static_cast<uint32_t>(places()));
  notice.mutable_crowd()->set_lost(static_cast<uint32_t>(departures_.lost()));
  tell_all(notice);
  tell_launcher();
}

// By a line that it knows. Workers of other launchers have joined without a wish.
void Gathering::tell_launcher() {
  if (!job_.is_heard) return;
  const auto is_of_other = [](const Seat* one) { return one && one->node.joins() && one->node.rank() < 0; };
  if (job_.elastic.is_on())
    fmt::print("headrace.launch: elastic {} {} {}\n", is_asynchronous_ ? "asynchronous" : "synchronous",
               std::ranges::count_if(workers_, is_of_other), asking());
  else
    fmt::print("headrace.launch: {} {}\n", has_begun_ ? "begun" : "waiting", count(workers_));
  std::fflush(stdout);
}

void Gathering::join_workers(Seat& seat) {
  seat.has_joined = true;
  seat.joined_at = log_.size();
  departures_.come(seat.rank, seat.incarnation);
  tell_crowd();
}

// The others go on, if they are enough, and do not wait for it.
void Gathering::leave_workers(const Seat& seat) {
  const auto left = count(workers_);
  if (!seat.is_leaving && left > 0 && left < static_cast<size_t>(job_.elastic.least))
    return refuse_all(
        fmt::format("worker {} was lost, and {} of at least {} workers are left", seat.rank, left, job_.elastic.least));
  tell_crowd();
  review_meeting();
}

}  // namespace headrace::distributed
