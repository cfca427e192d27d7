#include "distributed/gathering.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "distributed/processes.h"

namespace headrace::distributed {
namespace {

constexpr std::chrono::milliseconds kServerTime{1500};  // for which one of the two processes of a server may be away
constexpr const char* kVersion = HEADRACE_VERSION;

const char* name_of(NodeRole role) { return role == WORKER ? "worker" : "server"; }

uint64_t microseconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

}  // namespace

// "server 1 at 10.0.0.1:4711"; nobody connects to a worker.
std::string Gathering::text_of(const Seat& seat) {
  const std::string& address = seat.node.address();
  return fmt::format("{} {}{}{}", name_of(seat.node.role()), seat.rank, address.empty() ? "" : " at ", address);
}

size_t Gathering::count(const std::vector<Seat*>& seats) {
  return seats.size() - static_cast<size_t>(std::ranges::count(seats, nullptr));
}

bool Gathering::is_complete() const { return count(workers_) == workers_.size() && count(servers_) == servers_.size(); }

// --- nodes come ------------------------------------------------------------------------------------------------------

void Gathering::enter(Listener& stream, const Node& node) {
  std::lock_guard guard(mutex_);
  if (is_abandoned_) return stream.finish(not_leading());
  if (comes_again(node))
    return stream.finish(
        {grpc::StatusCode::UNAVAILABLE,
         "the job has been asked to begin anew with this worker, from a checkpoint that it is to save"});
  streams_[&stream] = ++last_stream_;
  changed_.notify_all();
  admit(stream, node);
  settle();
}

void Gathering::admit(Listener& stream, const Node& node) {
  if (const auto known = seats_.find(node.token()); known != seats_.end()) {
    Seat& seat = known->second;
    seat.node.set_heard(node.heard());
    if (!refusal_.empty()) return refuse(stream, refusal_);
    if (!seat.is_gone) {
      report(job_.verbosity, Verbosity::kNodes, "scheduler: {} is connected again", text_of(seat));
      return welcome(seat, stream);
    }
    return refuse(stream, fmt::format("{} {} was given up: the scheduler had heard nothing from it for {} seconds",
                                      name_of(node.role()), seat.rank, time_away(seat).count() / 1e3));
  }
  if (const std::string reason = reason_against(node); !reason.empty()) return refuse(stream, reason);
  if (!refusal_.empty()) return refuse(stream, refusal_);
  seat(stream, node);
}

// Why a node that is new gets no seat.
std::string Gathering::reason_against(const Node& node) {
  const char* const name = name_of(node.role());
  if (node.version() != kVersion)
    return fmt::format("the {} is Headrace {}, the scheduler {}; use one version", name, node.version(), kVersion);
  if (node.role() != WORKER && node.role() != SERVER)
    return fmt::format("nobody sits down here as {}; the nodes of a job are workers and servers",
                       static_cast<int>(node.role()));
  if (node.joins() && node.role() != WORKER) return "only workers join a job that has begun";
  if (node.joins()) return reason_against_joining(node);
  if (node.workers() != static_cast<uint32_t>(job_.workers) || node.servers() != static_cast<uint32_t>(job_.servers))
    return fmt::format(
        "the {} was told of {} workers and {} servers, the scheduler of {} and {}; DMLC_NUM_WORKER and "
        "DMLC_NUM_SERVER are the same for all",
        name, node.workers(), node.servers(), job_.workers, job_.servers);
  if (node.replicas() != static_cast<uint32_t>(job_.replicas))
    return fmt::format("the {} was told of {} replicas, the scheduler of {}; HEADRACE_REPLICAS is the same for all",
                       name, node.replicas(), job_.replicas);
  if (node.least_workers() != static_cast<uint32_t>(job_.elastic.least) ||
      node.most_workers() != static_cast<uint32_t>(job_.elastic.most))
    return fmt::format(
        "the {} was told of {} to {} workers of an elastic job, the scheduler of {} to {}; HEADRACE_ELASTIC is the "
        "same for all",
        name, node.least_workers(), node.most_workers(), job_.elastic.least, job_.elastic.most);
  if (node.heard() > 0)
    return fmt::format("the scheduler is another one than the {} has worked with, and does not know its job", name);
  const bool is_needed = node.role() == SERVER && has_begun_ && free_place(node) != servers_.end();
  if (has_begun_ && !is_needed) return "all nodes of the job are there already; is this a second job on one port?";
  const std::vector<Seat*>& seats = seats_of(node.role());
  if (count(seats) == seats.size())
    return fmt::format("there are {} {}s already; is this a second job on one port?", seats.size(), name);
  if (node.rank() >= 0 && (static_cast<size_t>(node.rank()) >= seats.size() || seats[static_cast<size_t>(node.rank())]))
    return fmt::format("rank {} of {} workers is asked for twice; DMLC_WORKER_ID differs between workers", node.rank(),
                       seats.size());
  return {};
}

void Gathering::seat(Listener& stream, const Node& node) {
  std::vector<Seat*>& seats = seats_of(node.role());
  const auto place = node.joins() ? place_to_join(node) : free_place(node);
  last_incarnation_ = std::max(last_incarnation_ + 1, microseconds());
  Seat& seat = seats_[node.token()] = {.node = node,
                                       .rank = static_cast<uint32_t>(place - seats.begin()),
                                       .incarnation = last_incarnation_,
                                       .met = meetings_};
  *place = &seat;
  report(job_.verbosity, Verbosity::kNodes, "scheduler: {} has come", text_of(seat));
  if (node.role() == WORKER && count(workers_) == 1 && !has_begun_) is_asynchronous_ = node.asynchronous();
  is_changed_ = true;
  if (has_begun_) join(seat);
  welcome(seat, stream);
  if (!has_begun_) tell_launcher();
  if (!has_begun_ && is_complete() && !awaits_workers()) begin();
}

// Where a node may sit down that comes now. When the job has begun these are the places of backups that were lost.
std::vector<Gathering::Seat*>::iterator Gathering::free_place(const Node& node) {
  std::vector<Seat*>& seats = seats_of(node.role());
  if (node.rank() >= 0) return seats.begin() + node.rank();
  return std::ranges::find_if(seats, [&](Seat* const& seat) {
    if (seat || !has_begun_) return !seat;
    const Part& part = parts_[static_cast<size_t>(&seat - seats.data()) % parts_.size()];
    return job_.replicas > 1 && !part.backup && !part.primary->is_gone;
  });
}

// A server that comes later stands by when it has been told everything.
void Gathering::join(Seat& seat) {
  if (seat.node.role() == WORKER) return join_workers(seat);
  const size_t server = seat.rank % parts_.size();
  parts_[server].backup = &seat;
  parts_[server].is_copied = false;
  tell_all(notice_of(server));
  seat.has_joined = true;
  seat.joined_at = log_.size();
}

void Gathering::take_copied(const Copied& copied) {
  std::lock_guard guard(mutex_);
  for (size_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    if (part.is_copied || !part.backup || part.primary->node.token() != copied.token() ||
        part.backup->node.address() != copied.backup())
      continue;
    part.is_copied = true;
    tell_all(notice_of(i));
  }
  settle();
}

Notice Gathering::notice_of(size_t server) const {
  Notice notice;
  *notice.mutable_serving() = serving(server);
  return notice;
}

void Gathering::begin() {
  if (job_.replicas > 1) place_replicas();
  const auto count = static_cast<size_t>(job_.servers);
  for (size_t i = 0; i < count; ++i)
    parts_.push_back(job_.replicas > 1 ? Part{1, servers_[i], servers_[count + i]} : Part{0, servers_[i], nullptr});
  for (size_t i = 0; i < count; ++i) begun_.push_back(serving(i));
  for (const Seat* worker : workers_)
    if (worker) departures_.come(worker->rank, worker->incarnation);
  has_begun_ = is_changed_ = true;
  report(job_.verbosity, Verbosity::kNodes, "scheduler: the job begins with {} workers and {} servers",
         Gathering::count(workers_), count);
  for (auto& [token, one] : seats_)
    if (one.stream) say(*one.stream, cluster_for(one));
  tell_launcher();
}

// A server and its backup are on different machines where no machine has more than half of them.
void Gathering::place_replicas() {
  const auto host = [](const Seat* seat) {
    const std::string& address = seat->node.address();
    return address.substr(0, address.rfind(':'));
  };
  std::ranges::stable_sort(servers_, {}, host);
  for (size_t i = 0; i < servers_.size(); ++i) servers_[i]->rank = static_cast<uint32_t>(i);
}

// Takes the place of the stream before, and is told what that has not brought.
void Gathering::welcome(Seat& seat, Listener& stream) {
  Seat* const other = other_of(seat);
  const bool is_other_alone = other && !other->stream && !has_stand_in(*other);
  if (Listener* const before = std::exchange(seat.stream, &stream)) say_last(*before);
  if (is_other_alone && has_stand_in(*other))  // that one may be about to come, too
    other->away_since = std::max(other->away_since, Clock::now());
  Notice notice;
  notice.mutable_welcome()->set_process(own_process());
  say(stream, std::move(notice));
  const std::vector<Notice> all = told(seat);
  for (size_t i = seat.node.heard(); i < all.size(); ++i) say(stream, all[i]);
  if (is_over_) say_last(stream);
}

// What the node of this seat is told as long as it takes part.
std::vector<Notice> Gathering::told(const Seat& seat) const {
  if (!has_begun_) return {};
  std::vector<Notice> all{cluster_for(seat)};
  const auto joined = log_.begin() + static_cast<ptrdiff_t>(seat.joined_at);
  if (seat.node.role() == SERVER)
    for (Notice& departed : departed_before(seat.incarnation)) all.push_back(std::move(departed));
  all.insert(all.end(), joined, log_.end());
  if (is_over_) all.emplace_back().mutable_finished();
  return all;
}

Notice Gathering::cluster_for(const Seat& seat) const {
  Notice notice;
  Cluster& cluster = *notice.mutable_cluster();
  cluster.set_rank(seat.rank);
  cluster.set_incarnation(seat.incarnation);
  cluster.set_workers(static_cast<uint32_t>(places()));
  cluster.set_has_begun(seat.has_joined);
  cluster.set_is_open(job_.elastic.is_on() && is_asynchronous_);
  cluster.mutable_servers()->Add(begun_.begin(), begun_.end());
  for (size_t i = 0; i < seat.joined_at; ++i)
    if (log_[i].has_serving())
      *cluster.mutable_servers(static_cast<int>(log_[i].serving().server())) = log_[i].serving();
  return notice;
}

Serving Gathering::serving(size_t server) const {
  const Part& part = parts_[server];
  Serving serving;
  serving.set_server(static_cast<uint32_t>(server));
  serving.set_epoch(part.epoch);
  serving.set_address(part.primary->node.address());
  if (part.backup) serving.set_backup(part.backup->node.address());
  serving.set_is_backed(part.backup && part.is_copied);
  return serving;
}

void Gathering::tell_all(const Notice& notice) {
  log_.push_back(notice);
  is_changed_ = true;
  for (auto& [token, seat] : seats_)
    if (!seat.is_gone && seat.stream) say(*seat.stream, notice);
}

void Gathering::refuse(Listener& stream, const std::string& reason) {
  report(job_.verbosity, Verbosity::kNodes, "scheduler: a node is refused: {}", reason);
  Notice notice;
  notice.set_refusal(reason);
  say(stream, std::move(notice));
  say_last(stream);
}

void Gathering::refuse_all(const std::string& reason) {
  if (!refusal_.empty()) return;
  refusal_ = reason;
  for (const auto& [stream, number] : streams_) refuse(*stream, refusal_);
  changed_.notify_all();
}

// --- and go ----------------------------------------------------------------------------------------------------------

void Gathering::leave(Listener& stream) {
  std::lock_guard guard(mutex_);
  if (streams_.erase(&stream) == 0) return;
  changed_.notify_all();
  for (auto& [token, seat] : seats_) {
    if (seat.stream != &stream) continue;
    seat.stream = nullptr;
    seat.away_since = Clock::now();
    report(job_.verbosity, Verbosity::kNodes, "scheduler: the connection of {} is over", text_of(seat));
    if (!seat.is_gone && (is_over_ || seat.is_leaving)) give_up(seat);
  }
  settle();
}

void Gathering::expect_end(uint64_t token, grpc::ServerUnaryReactor* reactor) {
  std::lock_guard guard(mutex_);
  if (const auto known = seats_.find(token); known != seats_.end() && !known->second.is_gone) {
    Seat& seat = known->second;
    seat.is_leaving = is_changed_ = true;
    if (is_open() && seat.node.role() == WORKER) give_up(seat);  // another one may have its place at once
  }
  answer(reactor, grpc::Status::OK);
  settle();
}

void Gathering::give_up(Seat& seat) {
  seat.is_gone = is_changed_ = true;
  report(job_.verbosity, Verbosity::kNodes, "scheduler: {} {}", text_of(seat),
         seat.is_leaving || is_over_ ? "has ended" : "was lost");
  seats_of(seat.node.role())[seat.rank] = nullptr;
  if (!has_begun_ && seat.node.joins()) return forget_place(seat);
  if (has_begun_ && pass_on(seat)) return;
  if (has_begun_) return tell_departure(seat);
  refuse_all(fmt::format("{} {} was lost before all nodes had come", name_of(seat.node.role()), seat.rank));
}

// Whether another process goes on with what a server was that is gone. It does so before others can hear of it.
bool Gathering::pass_on(const Seat& seat) {
  if (seat.node.role() != SERVER || is_over_) return false;
  const size_t server = seat.rank % parts_.size();
  Part& part = parts_[server];
  if (part.primary == &seat) {
    if (!part.backup || !part.is_copied) return false;
    part.primary = part.backup;
    ++part.epoch;
  }
  part.backup = nullptr;
  tell_all(notice_of(server));
  return true;
}

void Gathering::tell_departure(const Seat& seat) {
  Notice notice;
  Departure& departure = *notice.mutable_departure();
  departure.set_role(seat.node.role());
  departure.set_rank(seat.node.role() == WORKER ? seat.rank : seat.rank % static_cast<uint32_t>(parts_.size()));
  departure.set_lost(!seat.is_leaving);
  departure.set_incarnation(seat.incarnation);
  if (seat.node.role() == WORKER) departures_.depart(seat.rank, seat.incarnation, departure.lost());
  tell_all(notice);
  note_missing(departure);
  if (seat.node.role() != WORKER) return;
  if (is_open()) return leave_workers(seat);
  answer_meeting({grpc::StatusCode::ABORTED, missing_});
}

// Nobody waits for a worker that is missing, where others come and go.
void Gathering::note_missing(const Departure& departure) {
  if (departure.role() != WORKER || is_open()) return;
  missing_ = fmt::format("worker {} {}", departure.rank(), departure.lost() ? "was lost" : "has ended");
}

// The other process of a server; null: it is none, or there is none that could serve.
Gathering::Seat* Gathering::other_of(const Seat& seat) const {
  if (seat.node.role() != SERVER || parts_.empty()) return nullptr;
  const Part& part = parts_[seat.rank % parts_.size()];
  if (part.primary != &seat) return part.primary;
  return part.is_copied ? part.backup : nullptr;
}

bool Gathering::has_stand_in(const Seat& seat) const {
  const Seat* const other = other_of(seat);
  return other && other->stream;
}

// The rest of the silence of a node, after which it is lost, has passed before its connection was known to be broken.
std::chrono::milliseconds Gathering::time_away(const Seat& seat) const {
  return has_stand_in(seat) ? least_time_away() : std::chrono::milliseconds(job_.silence_ms / 2);
}

std::chrono::milliseconds Gathering::least_time_away() const {
  return std::min(std::chrono::milliseconds(job_.silence_ms / 2), kServerTime);
}

bool Gathering::review_away() {
  bool any = false;
  for (auto& [token, seat] : seats_) {
    if (seat.is_gone || seat.stream) continue;
    if (Clock::now() - seat.away_since >= time_away(seat) || has_ended(seat.node.process()))
      give_up(seat);
    else
      any = true;
  }
  return any;
}

// --- barriers --------------------------------------------------------------------------------------------------------

void Gathering::meet(const Arrival& arrival, grpc::ServerUnaryReactor* reactor) {
  std::lock_guard guard(mutex_);
  const auto known = seats_.find(arrival.token());
  if (known == seats_.end())
    answer(reactor, {grpc::StatusCode::FAILED_PRECONDITION, "the worker is unknown"});
  else if (arrival.number() + known->second.met <= meetings_)
    answer(reactor, grpc::Status::OK);
  else if (!missing_.empty())
    answer(reactor, {grpc::StatusCode::ABORTED, missing_});
  else
    meet(known->second, reactor);
  settle();
}

void Gathering::meet(Seat& seat, grpc::ServerUnaryReactor* reactor) {
  if (auto* const before = std::exchange(seat.meeting, reactor)) answer(before, grpc::Status::CANCELLED);
  review_meeting();
}

// All are there, where nobody comes and goes.
void Gathering::review_meeting() {
  const auto has_come = [this](const Seat* one) { return one ? one->meeting != nullptr : is_open(); };
  if (count(workers_) == 0 || !std::ranges::all_of(workers_, has_come)) return;
  ++meetings_;
  is_changed_ = true;
  answer_meeting(grpc::Status::OK);
}

void Gathering::answer_meeting(const grpc::Status& status) {
  for (auto& [token, seat] : seats_)
    if (auto* const reactor = std::exchange(seat.meeting, nullptr)) answer(reactor, status);
}

}  // namespace headrace::distributed
