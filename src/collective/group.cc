#include "collective/group.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <utility>

#include "base/check.h"
#include "base/futex.h"
#include "base/interruption.h"
#include "base/log.h"
#include "base/signals_blocked.h"
#include "device/registry.h"
#include "engine/runtime.h"
#include "timeline/timeline.h"

namespace headrace::collective {
namespace {

using namespace std::chrono_literals;

constexpr size_t kBlockBytes = 256;  // what a rank tells in one transfer; more takes a second one
constexpr size_t kInlineBytes = kBlockBytes - sizeof(uint32_t);
constexpr std::chrono::microseconds kLeastPace = 50us, kMostPace = 2ms;  // between cycles in which nobody has news
constexpr auto kStall = 5s;                                              // without news, while programs wait
constexpr auto kPatience = 10s;                                          // with others, when this rank has failed

std::string error_text(std::exception_ptr error) {
  try {
    std::rethrow_exception(std::move(error));
  } catch (const std::exception& known) {
    return known.what();
  }
}

class Counted {
 public:
  explicit Counted(std::atomic<int>& count) noexcept : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::atomic<int>& count_;
};

// Sleeps while a request is in the stage `seen`, at most; may be interrupted.
void await_change(Request& request, uint32_t seen) {
  const Interruptible::Check check = Interruptible::current();
  if (!check) return futex_wait(request.stage, seen);
  futex_wait(request.stage, seen, Interruptible::kBetweenChecks);
  if (request.stage.load(std::memory_order_acquire) == seen) check();
}

// A call is over when the last rank is ready: the arrow of a timeline of all ranks.
void tell(const Request& request, void (*how)(timeline::Label, uint64_t) noexcept) {
  if (!timeline::enabled(timeline::kMessage.source)) [[likely]]
    return;
  how({"call", timeline::kMessage}, timeline::message_number(fmt::format("{} {}", request.place, request.name)));
}

}  // namespace

Group::Group(Open open)
    : process_(getpid()), gang_calls_([this](Event event) { untold_.push_back(std::move(event)); }, complete) {
  std::promise<void> opened;
  {
    const SignalsBlocked blocked;
    thread_ = std::thread([this, open = std::move(open), &opened] {
      live(open, [&opened](std::exception_ptr error) {
        error ? opened.set_exception(std::move(error)) : opened.set_value();
      });
    });
  }
  try {
    opened.get_future().get();
  } catch (...) {
    thread_.join();
    throw;
  }
}

// The offer is told before the first call that may need it.
RankGang* Group::gang_for(Device device) {
  Backend* const backend = device.is_host() ? nullptr : backend_of(device.type);
  if (!backend || getpid() != process_) return nullptr;
  std::lock_guard guard(gang_mutex_);
  if (!std::exchange(has_offered_, true)) {
    Event offer{.what = Event::What::kOffered, .failure = CallFailure{}};
    try {
      if (RankGang* const gang = backend->rank_gang(device.id)) {
        offer = {.what = Event::What::kOffered, .name = gang->identity()};
        if (rank_ == 0) offer.call = gang->make_meeting_point();
        gang_ = gang;
      }
    } catch (const Error& error) {
      offer.failure = CallFailure{ErrorKind::kRuntime, error.what()};
    }
    std::lock_guard events(mutex_);
    events_.push_back(std::move(offer));
  }
  return is_gang_refused_ ? nullptr : gang_.load();
}

// --- calls -----------------------------------------------------------------------------------------------------------

RequestPtr Group::announce(std::string name, std::string call) {
  return announce_as(Event::What::kAnnounced, std::move(name), std::move(call));
}

RequestPtr Group::announce_as(Event::What what, std::string name, std::string call) {
  check(getpid() == process_, ErrorKind::kRuntime,
        "distributed: {} was called in a process that a rank has forked; only the rank itself takes part", call);
  std::lock_guard guard(mutex_);
  check(!has_ended_, ErrorKind::kRuntime, "distributed: {} was called after this process had left the others", call);
  if (broken_) throw Error(broken_->kind, broken_->text);
  was_behind_ = false;
  auto request = std::make_shared<Request>(name, announced_[name]++);
  requests_[name].push_back(request);
  events_.push_back({.what = what, .name = std::move(name), .call = std::move(call)});
  return request;
}

void Group::ready(const RequestPtr& request, Work work, int urgency) {
  tell(*request, timeline::sent);
  std::lock_guard guard(mutex_);
  events_.push_back({.what = Event::What::kReady,
                     .name = request->name,
                     .place = request->place,
                     .urgency = urgency,
                     .by_gang = work.by_gang});
  request->work = std::move(work);
  changed_.notify_all();
}

void Group::fail(const RequestPtr& request, CallFailure failure) {
  std::lock_guard guard(mutex_);
  events_.push_back(
      {.what = Event::What::kReady, .name = request->name, .place = request->place, .failure = std::move(failure)});
  changed_.notify_all();
}

void Group::wait(Request& request) {
  for (uint32_t seen = 0; (seen = request.stage.load(std::memory_order_acquire)) != Request::kIsOver;)
    await_change(request, seen);
  if (request.failure) throw Error(request.failure->kind, request.failure->text);
}

bool Group::is_wanted_on_host(Request& request) {
  while (request.stage.load(std::memory_order_acquire) == Request::kWaits) await_change(request, Request::kWaits);
  return request.stage.load(std::memory_order_acquire) == Request::kIsWantedOnHost;
}

void Group::run(const std::string& name, std::string call, Work work) {
  const RequestPtr request = announce(name, std::move(call));
  ready(request, std::move(work), 0);
  runtime().engine.hand_over();
  const Counted counted(*waiting_);
  wait(*request);
}

void Group::state(std::string name, std::string call) {
  ready(announce_as(Event::What::kStated, std::move(name), std::move(call)), {}, 0);
}

bool Group::others_go_on() {
  runtime().engine.hand_over();
  check(getpid() == process_, ErrorKind::kRuntime,
        "distributed: join was called in a process that a rank has forked; only the rank itself takes part");
  std::unique_lock lock(mutex_);
  check(!has_ended_, ErrorKind::kRuntime, "distributed: join was called after this process had left the others");
  if (broken_) throw Error(broken_->kind, broken_->text);
  check(!was_behind_, ErrorKind::kRuntime,
        "distributed: join: other ranks go on, and this one came back without a call; it must make the calls that they "
        "make, with zeros");
  if (join_ == Join::kNone) {  // else an earlier call was interrupted
    join_ = Join::kAsked;
    events_.push_back({.what = Event::What::kJoined});
    changed_.notify_all();
  }
  const Counted counted(*waiting_);
  interruptible_wait(changed_, lock, [this] { return join_ != Join::kAsked || broken_; });
  was_behind_ = std::exchange(join_, Join::kNone) == Join::kIsBehind;
  if (broken_) throw Error(broken_->kind, broken_->text);
  return was_behind_;
}

void Group::end(std::optional<CallFailure> failure) {
  {
    std::lock_guard guard(mutex_);
    if (has_ended_) return;
    has_ended_ = true;
    events_.push_back({.what = Event::What::kEnded, .failure = std::move(failure)});
    changed_.notify_all();
  }
  if (getpid() == process_)
    thread_.join();
  else
    thread_.detach();  // it is in the other process
}

// --- the thread of the group -----------------------------------------------------------------------------------------

void Group::live(const Open& open, std::function<void(std::exception_ptr)> opened) {
  timeline::name_thread("ranks");
  try {
    wire_ = open();
    rank_ = wire_->rank();
    size_ = wire_->size();
    machines_.emplace(wire_->machines());
    tells_news_ = wire_->tell_news([this] {
      std::lock_guard guard(mutex_);
      has_wire_news_ = true;
      changed_.notify_all();
    });
    wire_->watch(waiting_);
    agreement_ = std::make_unique<Agreement>(rank_, size_);
    transfers_ = std::make_unique<Transfers>(*wire_);
  } catch (...) {
    wire_ = nullptr;
    return opened(std::current_exception());
  }
  opened(nullptr);
  try {
    work();
    gang_calls_.leave();
    leave();
    if (own_failure_) give_up(*own_failure_);
  } catch (...) {
    const std::string why = error_text(std::current_exception());
    const CallFailure failure{ErrorKind::kRuntime, "distributed: what connects the ranks has failed: " + why};
    fail_all(failure);
    gang_calls_.abort(failure.text);
    wire_->abort(why);
    give_up(failure);
  }
  cycle_ = nullptr;
  transfers_ = nullptr;
  wire_ = nullptr;
}

// Calls that nobody will carry out any more: those of a process that has failed wait, too.
void Group::give_up(const CallFailure& failure) {
  fail_all(failure);
  for (const RequestPtr& request : std::exchange(moving_, {})) complete(*request, failure);
}

void Group::work() {
  Clock::time_point idle_since = Clock::now();
  for (;;) {
    take_events();
    bool has_moved = agree();
    has_moved |= transfers_->advance();
    has_moved |= gang_calls_.advance();
    if (is_over()) return;
    if (has_moved)
      idle_since = Clock::now();
    else
      rest(Clock::now() - idle_since);
  }
}

void Group::take_events() {
  std::lock_guard guard(mutex_);
  for (Event& event : events_) {
    if (event.what == Event::What::kReady) ++ready_;
    if (event.what == Event::What::kJoined) is_joining_ = true;
    if (event.what == Event::What::kEnded) {
      is_ending_ = true;
      own_failure_ = event.failure;
    }
    untold_.push_back(std::move(event));
  }
  events_.clear();
}

// Waits for what may happen next: events of this rank, or the others.
void Group::rest(Clock::duration idle) {
  std::unique_lock lock(mutex_);
  const auto has_events = [this] { return !events_.empty(); };
  if (cycle_ || !transfers_->is_idle() || gang_calls_.is_moving()) return await_news(lock, idle);
  if (agreement_->broken() || !waits_for_others())
    changed_.wait(lock, has_events);
  else
    changed_.wait_until(lock, next_cycle_, has_events);
}

// A library that moves bytes does so while it is asked whether it is done, and accelerators tell nobody.
void Group::await_news(std::unique_lock<std::mutex>& lock, Clock::duration idle) {
  const auto has_events = [this] { return !events_.empty(); };
  if (tells_news_) {
    const auto has_news = [&] { return has_wire_news_ || has_events(); };
    if (gang_calls_.is_busy())
      changed_.wait_for(lock, std::clamp<Clock::duration>(idle / 8, 20us, 2ms), has_news);
    else
      changed_.wait(lock, has_news);
    has_wire_news_ = false;
    return;
  }
  const bool is_transferring = !transfers_->is_idle() || gang_calls_.is_moving();
  if (idle < (is_transferring ? 1000us : 100us)) {
    lock.unlock();
    std::this_thread::yield();
    return;
  }
  const Clock::duration most = is_transferring ? Clock::duration(100us) : Clock::duration(1ms);
  changed_.wait_for(lock, std::clamp<Clock::duration>(idle / 8, 20us, most), has_events);
}

// From a wire that outlasts the ranks. What this one has failed to do the others are told.
bool Group::may_go() {
  if (agreement_->broken()) return transfers_->is_idle();
  std::unique_lock lock(mutex_);
  const bool owes_nothing = requests_.empty();
  lock.unlock();
  if (own_failure_ && (!owes_nothing || (cycle_ && !is_end_told_))) {
    wire_->abort(fmt::format("rank {} has failed ({})", rank_, own_failure_->text));
    return true;
  }
  return is_end_told_ && owes_nothing && transfers_->is_idle();
}

bool Group::is_over() {
  if (!is_ending_ || (gang_calls_.is_busy() && !agreement_->broken())) return false;
  if (wire_->outlasts_ranks()) return may_go();
  if (own_failure_ || agreement_->broken()) {
    if (!last_moment_) last_moment_ = Clock::now() + kPatience;
    if (Clock::now() > *last_moment_) wire_->abort((own_failure_ ? *own_failure_ : *agreement_->broken()).text);
  }
  if (cycle_ || !transfers_->is_idle()) return false;
  if (agreement_->broken() || agreement_->all_have_finished()) return true;
  finish();
  return false;
}

// One rank's calls are over before another's, which begins cycles as long as its own are not, and waits for all in
// them.
void Group::finish() {
  if (is_finished_ || !agreement_->all_have_ended()) return;
  std::lock_guard guard(mutex_);
  if (!requests_.empty()) return;
  is_finished_ = true;
  untold_.push_back({.what = Event::What::kFinished});
}

// After a failure ranks may end at different times.
void Group::leave() {
  if (!agreement_->broken() || wire_->outlasts_ranks()) return;
  std::vector<std::byte> farewells(static_cast<size_t>(size_));
  const TransferPtr farewell =
      wire_->gather(Lane::kAgreement, farewells.data(), std::vector<size_t>(farewells.size(), 1));
  while (!farewell->is_done()) {
    static_cast<void>(is_over());  // not for ever
    std::this_thread::sleep_for(1ms);
  }
}

// --- agreement -------------------------------------------------------------------------------------------------------

bool Group::waits_for_others() const { return ready_ > 0 || is_joining_ || is_ending_ || gang_calls_.is_busy(); }

bool Group::wants_to_agree() const {
  if (agreement_->broken() || !waits_for_others()) return false;
  return !untold_.empty() || Clock::now() >= next_cycle_;
}

bool Group::agree() {
  if (!cycle_) {
    if (!wants_to_agree()) return false;
    if (wire_->outlasts_ranks() && agreement_->somebody_has_ended())
      agree_alone();
    else
      start_cycle();
    return true;
  }
  if (!cycle_->is_done()) return false;
  if (end_cycle()) conclude();
  return true;
}

// A rank has left, and takes part in no cycle: what this one calls from now on fails.
void Group::agree_alone() {
  agreement_->hear(rank_, agreement_->block_of(untold_));
  untold_.clear();
  is_join_told_ = is_joining_;
  is_end_told_ = is_ending_;
  conclude();
}

// For calls of other ranks, and nothing runs after which it would go on.
bool Group::program_waits() const {
  const Engine& engine = runtime().engine;
  return (*waiting_ > 0 || engine.is_awaited()) && engine.rests();
}

void Group::start_cycle() {
  const bool has_waited = (ready_ > 0 || is_joining_) && untold_.empty() && Clock::now() - last_news_ > kStall;
  if (has_waited && program_waits()) untold_.push_back({.what = Event::What::kStalled});
  block_ = agreement_->block_of(untold_);
  untold_.clear();
  is_join_told_ = is_joining_;
  tells_end_ = is_ending_;
  sizes_.assign(static_cast<size_t>(size_), kBlockBytes);
  blocks_.assign(sizes_.size() * kBlockBytes, std::byte{});
  std::byte* const own = blocks_.data() + static_cast<size_t>(rank_) * kBlockBytes;
  const auto size = static_cast<uint32_t>(block_.size());
  std::memcpy(own, &size, sizeof(size));
  if (size <= kInlineBytes) std::copy(block_.begin(), block_.end(), own + sizeof(size));
  has_long_blocks_ = false;
  cycle_ = wire_->gather(Lane::kAgreement, blocks_.data(), sizes_);
  is_end_told_ = tells_end_ && size <= kInlineBytes;
}

// False: there is more to come.
bool Group::end_cycle() {
  cycle_ = nullptr;
  if (has_long_blocks_) {
    const std::byte* place = blocks_.data();
    for (int rank = 0; rank < size_; place += sizes_[static_cast<size_t>(rank)], ++rank)
      agreement_->hear(rank, {place, sizes_[static_cast<size_t>(rank)]});
    return true;
  }
  size_t offset = 0, all = 0;
  for (size_t rank = 0; rank < sizes_.size(); ++rank) {
    uint32_t size = 0;
    std::memcpy(&size, blocks_.data() + rank * kBlockBytes, sizeof(size));
    sizes_[rank] = size;
    has_long_blocks_ |= size > kInlineBytes;
    if (static_cast<int>(rank) < rank_) offset += size;
    all += size;
  }
  if (has_long_blocks_) {
    blocks_.resize(all);
    std::copy(block_.begin(), block_.end(), blocks_.data() + offset);
    cycle_ = wire_->gather(Lane::kAgreement, blocks_.data(), sizes_);
    is_end_told_ = tells_end_;
    return false;
  }
  for (int rank = 0; rank < size_; ++rank)
    agreement_->hear(rank, {blocks_.data() + static_cast<size_t>(rank) * kBlockBytes + sizeof(uint32_t),
                            sizes_[static_cast<size_t>(rank)]});
  return true;
}

void Group::conclude() {
  const std::vector<Decision> decisions = agreement_->decide();
  follow_gang();
  for (const Decision& decision : decisions) carry_out(decision);
  if (agreement_->broken()) return fail_all(*agreement_->broken());
  if (is_join_told_) answer_join();
  const Clock::time_point now = Clock::now();
  if (agreement_->has_news()) last_news_ = now;
  pace_ = agreement_->has_news() ? Clock::duration() : std::clamp<Clock::duration>(2 * pace_, kLeastPace, kMostPace);
  next_cycle_ = now + pace_;
}

// What the ranks know of each other's accelerators.
void Group::follow_gang() {
  const GangAgreement& gang = agreement_->gang();
  const bool is_refused = gang.state() == GangAgreement::State::kRefused && !is_gang_refused_.exchange(true);
  if (gang.state() == GangAgreement::State::kConnecting && !has_connected_) {
    has_connected_ = true;
    gang_calls_.connect(*gang_, gang.meeting_point(), rank_, size_);
  }
  if (is_refused) gang_calls_.give_up(gang.why_refused());
  if (is_refused && rank_ == 0 && size_ > 1 && !gang.why_refused().empty())
    log(LogLevel::kWarn, "distributed: arrays of GPUs pass through the memory of the host: {}", gang.why_refused());
  if (agreement_->is_gang_broken()) gang_calls_.abort(agreement_->broken()->text);
}

// The program makes no calls meanwhile, so the others know of all of them.
void Group::answer_join() {
  const bool is_over = agreement_->joined() > joined_;
  if (!is_over && !agreement_->is_behind()) return;
  joined_ = agreement_->joined();
  is_joining_ = is_join_told_ = false;
  std::lock_guard guard(mutex_);
  join_ = is_over ? Join::kIsOver : Join::kIsBehind;
  changed_.notify_all();
}

void Group::carry_out(const Decision& decision) {
  RequestPtr request;
  const bool stays = decision.way == Decision::Way::kToHost;
  {
    std::lock_guard guard(mutex_);
    const auto place = requests_.find(decision.name);
    request = place->second.front();
    if (!stays) place->second.pop_front();
    if (place->second.empty()) requests_.erase(place);
  }
  --ready_;
  if (stays) {
    request->stage.store(Request::kIsWantedOnHost, std::memory_order_release);
    return futex_wake_all(request->stage);
  }
  if (decision.failure) return complete(*request, decision.failure);
  if (decision.way == Decision::Way::kGang) return gang_calls_.add(request);
  moving_.push_back(request);
  transfers_->add(request->work, [this] {
    const RequestPtr moved = std::move(moving_.front());
    moving_.pop_front();
    complete(*moved, {});
  });
}

void Group::complete(Request& request, std::optional<CallFailure> failure) {
  const timeline::Span span("call is over");
  tell(request, timeline::received);
  request.failure = std::move(failure);
  request.stage.store(Request::kIsOver, std::memory_order_release);
  futex_wake_all(request.stage);
}

void Group::fail_all(const CallFailure& failure) {
  std::map<std::string, std::deque<RequestPtr>> requests;
  {
    std::lock_guard guard(mutex_);
    broken_ = failure;
    requests.swap(requests_);
    changed_.notify_all();
  }
  for (const auto& [name, waiting] : requests)
    for (const RequestPtr& request : waiting) complete(*request, failure);
}

}  // namespace headrace::collective
