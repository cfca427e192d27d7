// The course of a gathering as a whole: what is said when, what another scheduler goes on with, and the end.
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "distributed/gathering.h"

namespace headrace::distributed {
namespace {

constexpr std::chrono::seconds kPartingTime{5};  // within which servers end
constexpr std::chrono::milliseconds kReviewTime{20};
constexpr std::chrono::milliseconds kReturnTime{4000};  // within which nodes find a scheduler that leads, at least

}  // namespace

grpc::Status not_leading() { return {grpc::StatusCode::UNAVAILABLE, "this scheduler stands by"}; }

Gathering::Gathering(const Job& job, Keeper* keeper)
    : job_(job),
      keeper_(keeper),
      workers_(static_cast<size_t>(job.workers)),
      servers_(static_cast<size_t>(job.servers) * static_cast<size_t>(job.replicas)) {}

Gathering::Gathering(const Job& job, const Kept& kept, Keeper& keeper) : Gathering(job, &keeper) {
  restore(kept);
  is_keeping_ = true;
  keeping_ = std::thread([this] { keep_all(); });
}

Gathering::~Gathering() { stop_keeping(); }

// --- what is said ----------------------------------------------------------------------------------------------------

void Gathering::say(Listener& stream, Notice notice) {
  sayings_.push_back([this, &stream, number = streams_.at(&stream), notice = std::move(notice)](bool is_kept) {
    const auto there = streams_.find(&stream);
    if (is_kept && there != streams_.end() && there->second == number) stream.tell(notice);
  });
}

void Gathering::say_last(Listener& stream) {
  sayings_.push_back([this, &stream, number = streams_.at(&stream)](bool is_kept) {
    const auto there = streams_.find(&stream);
    if (is_kept && there != streams_.end() && there->second == number) stream.finish(grpc::Status::OK);
  });
}

void Gathering::answer(grpc::ServerUnaryReactor* reactor, const grpc::Status& status) {
  sayings_.push_back([reactor, status](bool is_kept) { reactor->Finish(is_kept ? status : not_leading()); });
}

// What there is to say is said: at once, or by the thread that keeps.
void Gathering::settle() {
  if (is_keeping_) return changed_.notify_all();
  for (const Saying& saying : std::exchange(sayings_, {})) saying(!is_abandoned_);
}

// Keeps what has changed, whatever that is by now, and then says what there was to say.
void Gathering::keep_all() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return !is_keeping_ || is_changed_ || !sayings_.empty(); });
    if (!is_keeping_ && sayings_.empty()) return;
    const std::vector<Saying> sayings = std::exchange(sayings_, {});
    if (std::exchange(is_changed_, false) && !is_abandoned_) {
      const Kept kept{.state = state(), .meetings = meetings_};
      lock.unlock();
      bool is_kept = false;
      std::exception_ptr error;
      try {
        is_kept = keeper_->keep(kept);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      if (!is_kept) is_abandoned_ = true;
      if (error) error_ = error;
    }
    for (const Saying& saying : sayings) saying(!is_abandoned_);
    changed_.notify_all();
  }
}

void Gathering::stop_keeping() {
  {
    std::lock_guard guard(mutex_);
    is_keeping_ = false;
    changed_.notify_all();
  }
  if (keeping_.joinable()) keeping_.join();
}

void Gathering::abandon() {
  std::lock_guard guard(mutex_);
  is_abandoned_ = true;
  changed_.notify_all();
}

bool Gathering::is_abandoned() {
  std::lock_guard guard(mutex_);
  return is_abandoned_;
}

// --- what is kept ----------------------------------------------------------------------------------------------------

GatheringState Gathering::state() const {
  GatheringState state;
  for (const auto& [token, seat] : seats_) {
    SeatState& one = *state.add_seats();
    one.set_role(seat.node.role());
    one.set_address(seat.node.address());
    one.set_token(token);
    one.set_process(seat.node.process());
    one.set_rank(seat.rank);
    one.set_incarnation(seat.incarnation);
    one.set_has_joined(seat.has_joined);
    one.set_joined_at(static_cast<uint32_t>(seat.joined_at));
    one.set_met(seat.met);
    one.set_joins(seat.node.joins());
    one.set_wish(seat.node.rank());
    one.set_is_leaving(seat.is_leaving);
    one.set_is_gone(seat.is_gone);
  }
  for (const Part& part : parts_) {
    PartState& one = *state.add_parts();
    one.set_epoch(part.epoch);
    one.set_primary(part.primary->node.token());
    if (part.backup) one.set_backup(part.backup->node.token());
    one.set_is_copied(part.is_copied);
  }
  state.set_has_begun(has_begun_);
  state.set_is_asynchronous(is_asynchronous_);
  state.mutable_begun()->Add(begun_.begin(), begun_.end());
  state.mutable_log()->Add(log_.begin(), log_.end());
  return state;
}

// All nodes are away, and come back.
void Gathering::restore(const Kept& kept) {
  const GatheringState& state = kept.state;
  for (const SeatState& one : state.seats()) {
    if (one.is_gone() && !state.has_begun()) continue;  // others may have its place
    Seat& seat = seats_[one.token()];
    seat.node.set_role(one.role());
    seat.node.set_address(one.address());
    seat.node.set_token(one.token());
    seat.node.set_process(one.process());
    seat.rank = one.rank();
    seat.incarnation = one.incarnation();
    seat.has_joined = one.has_joined();
    seat.joined_at = one.joined_at();
    seat.met = one.met();
    seat.node.set_joins(one.joins());
    seat.node.set_rank(one.wish());
    seat.is_leaving = one.is_leaving();
    seat.is_gone = one.is_gone();
    seat.away_since = Clock::now() + std::max(kReturnTime - least_time_away(), {});
    last_incarnation_ = std::max(last_incarnation_, seat.incarnation);
    if (seat.is_gone) continue;
    std::vector<Seat*>& seats = seats_of(one.role());
    if (seat.rank >= seats.size()) seats.resize(seat.rank + 1);  // workers that have joined
    seats[seat.rank] = &seat;
  }
  for (const PartState& one : state.parts())
    parts_.push_back(
        {one.epoch(), &seats_.at(one.primary()), one.backup() ? &seats_.at(one.backup()) : nullptr, one.is_copied()});
  has_begun_ = state.has_begun();
  is_asynchronous_ = state.is_asynchronous();
  begun_.assign(state.begun().begin(), state.begun().end());
  log_.assign(state.log().begin(), state.log().end());
  restore_departures();
  meetings_ = kept.meetings;
}

void Gathering::restore_departures() {
  std::map<uint64_t, uint32_t> ranks;  // of workers, by incarnation
  for (const auto& [token, seat] : seats_)
    if (has_begun_ && seat.node.role() == WORKER) ranks.emplace(seat.incarnation, seat.rank);
  for (const auto& [incarnation, rank] : ranks) departures_.come(rank, incarnation);
  for (const Notice& notice : log_) {
    if (!notice.has_departure()) continue;
    const Departure& gone = notice.departure();
    note_missing(gone);
    if (gone.role() == WORKER) departures_.depart(gone.rank(), gone.incarnation(), gone.lost());
  }
}

// --- from begin to end -----------------------------------------------------------------------------------------------

bool Gathering::await(std::unique_lock<std::mutex>& lock, Clock::time_point deadline,
                      const std::function<bool()>& is_so) {
  while (!is_abandoned_ && !is_so()) {
    if (Clock::now() >= deadline) return false;
    bool any = review_away();
    if (job_.awaited > 0 && !has_begun_ && refusal_.empty() && is_complete()) {
      if (!awaits_workers()) begin();
      any = true;
    }
    settle();
    if (is_so()) return true;
    changed_.wait_until(lock, any ? std::min(deadline, Clock::now() + kReviewTime) : deadline);
  }
  return true;
}

// Which workers have not come, as far as those that have were told their ranks.
std::string Gathering::text_of_absent() const {
  std::vector<size_t> absent;
  for (size_t rank = 0; rank < workers_.size(); ++rank) {
    if (workers_[rank] && workers_[rank]->node.rank() < 0) return {};
    if (!workers_[rank]) absent.push_back(rank);
  }
  if (absent.empty()) return {};
  constexpr size_t kMostNamed = 8;
  const size_t more = absent.size() - std::min(absent.size(), kMostNamed);
  absent.resize(absent.size() - more);
  return fmt::format("; without {} {}{}: did {} end, or make no store and no exchange? All workers run one program",
                     absent.size() == 1 ? "worker" : "workers", fmt::join(absent, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "", absent.size() == 1 ? "it" : "they");
}

bool Gathering::await_end(std::chrono::milliseconds time_to_come) {
  std::unique_lock lock(mutex_);
  if (!await(lock, Clock::now() + time_to_come, [&] { return has_begun_ || !refusal_.empty(); }))
    refuse_all(fmt::format("after {} seconds {} of {} workers and {} of {} servers are there{}",
                           time_to_come.count() / 1e3, count(workers_), job_.workers, count(servers_), job_.servers,
                           text_of_absent()));
  if (has_begun_) await(lock, Clock::time_point::max(), [&] { return count(workers_) == 0 || !refusal_.empty(); });
  if (!is_abandoned_) await_departures(lock);
  lock.unlock();
  stop_keeping();
  lock.lock();
  if (is_abandoned_)
    for (const auto& [stream, number] : streams_) stream->finish(not_leading());
  answer_meeting(grpc::Status::CANCELLED);
  settle();
  if (error_) std::rethrow_exception(error_);
  check(is_abandoned_ || refusal_.empty(), ErrorKind::kRuntime, "distributed: the job {}: {}",
        has_begun_ ? "ends" : "cannot begin", refusal_);
  return !is_abandoned_;
}

void Gathering::await_departures(std::unique_lock<std::mutex>& lock) {
  is_over_ = true;
  Notice notice;
  notice.mutable_finished();
  for (auto& [token, seat] : seats_)
    if (has_begun_ && !seat.is_gone && seat.stream) say(*seat.stream, notice);
  for (const auto& [stream, number] : streams_) say_last(*stream);
  settle();
  await(lock, Clock::now() + kPartingTime, [&] {
    return streams_.empty() &&
           (!has_begun_ || std::ranges::all_of(seats_, [](const auto& one) { return one.second.is_gone; }));
  });
}

}  // namespace headrace::distributed
