#include "distributed/membership.h"

#include <fmt/ranges.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "base/check.h"
#include "base/interruption.h"
#include "distributed/channel.h"
#include "distributed/long_waits.h"
#include "distributed/processes.h"
#include "distributed/protocol.grpc.pb.h"
#include "distributed/retries.h"

namespace headrace::distributed {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = Retries::Milliseconds;

constexpr Milliseconds kJoinTime{60'000};   // that all may take to start, at least
constexpr Milliseconds kLongestPause{500};  // a scheduler has little to do for each node
constexpr Milliseconds kShortPause{250};    // where several are asked in turn
constexpr Milliseconds kShortGreeting{1000};
constexpr double kMostHopeful = 5.0 / 6;  // of the time for which a scheduler is tried, with nothing said of it
constexpr std::chrono::seconds kStandTime{2};
constexpr std::chrono::seconds kLeaveTime{5};  // to say so on a busy machine, or when another scheduler takes over

uint64_t new_token() {
  std::random_device random;
  return (uint64_t{random()} << 32) | random();
}

}  // namespace

std::string text_of(const Departed& departed) {
  return fmt::format("{} {} {}", role_name(departed.role), departed.rank, departed.is_lost ? "was lost" : "has ended");
}

// The streams to the scheduler, one after the other, are held by a thread.
class Membership::Attending {
 public:
  Attending(const Job& job, const std::string& address, Observer observer)
      : job_(job),
        are_several_(!job.schedulers.empty()),
        schedulers_(are_several_ ? job.schedulers : std::vector{address_of(job.host, job.port)}),
        observer_(std::move(observer)),
        retries_(std::max(kJoinTime, Milliseconds(job.retry_ms)), longest_pause()) {
    node_.set_role(job.role == Role::kServer ? SERVER : WORKER);
    node_.set_rank(job.role == Role::kWorker ? job.rank : -1);
    node_.set_address(address);
    node_.set_version(HEADRACE_VERSION);
    node_.set_workers(static_cast<uint32_t>(job.workers));
    node_.set_servers(static_cast<uint32_t>(job.servers));
    node_.set_replicas(static_cast<uint32_t>(job.replicas));
    node_.set_least_workers(static_cast<uint32_t>(job.elastic.least));
    node_.set_most_workers(static_cast<uint32_t>(job.elastic.most));
    node_.set_joins(job.joins);
    node_.set_asynchronous(job.asynchronous);
    node_.set_token(new_token());
    node_.set_process(own_process());
    open_channel(job_, schedulers_[0]);  // raises here what it would raise in the thread
    thread_ = std::thread([this] { run(); });
    try {
      await_cluster();
    } catch (...) {  // it was interrupted
      close();
      throw;
    }
    std::unique_lock lock(mutex_);
    if (cluster_) return;
    const std::string why = why_;
    lock.unlock();
    close();
    fail(ErrorKind::kRuntime, "distributed: the {} cannot join: {}", role_name(job_.role), why);
  }

  // Until all nodes have come, or it is known that they do not.
  void await_cluster() {
    std::optional<LongWait> told;
    if (job_.role == Role::kWorker)
      told.emplace([workers = job_.workers, servers = job_.servers] {
        return fmt::format(
            "distributed: the worker waits until all {} workers and {} servers of the job have come; one may have "
            "ended, do other things first, or make no store and no exchange",
            workers, servers);
      });
    std::unique_lock lock(mutex_);
    interruptible_wait(changed_, lock, [&] { return cluster_ || is_over_; });
  }

  ~Attending() {
    if (!thread_.joinable()) return;
    if (job_.role == Role::kWorker) leave();
    close();
  }

  int rank() const noexcept { return static_cast<int>(cluster_->rank()); }
  uint64_t incarnation() const noexcept { return cluster_->incarnation(); }
  const std::vector<Serving>& servers() const noexcept { return servers_; }
  int workers() const noexcept { return workers_; }
  bool is_open() const noexcept { return cluster_->is_open(); }
  bool has_joined() const noexcept { return cluster_->has_begun(); }
  int lost_workers() const noexcept { return lost_workers_; }

  void barrier() {
    std::lock_guard one_at_a_time(barrier_mutex_);
    Arrival arrival;
    arrival.set_token(node_.token());
    arrival.set_number(++barriers_);
    while (true) {
      const std::shared_ptr<Stream> stream = present();
      const grpc::Status status = arrive(*stream, arrival);
      if (status.ok()) return;
      const bool is_final = status.error_code() == grpc::StatusCode::ABORTED;
      if (is_final || Retries::is_refusal(status.error_code()))
        raise_status(status, "kvstore barrier: not all workers can come");
      stream->cancel();
      std::unique_lock lock(mutex_);
      interruptible_wait(changed_, lock, [&] { return is_over_ || stream_ != stream; });
    }
  }

  void stand(Standing standing) {
    std::unique_lock lock(mutex_);
    const std::shared_ptr<Stream> stream = is_welcome_ && !is_over_ ? stream_ : nullptr;
    standing.set_token(node_.token());
    lock.unlock();
    if (!stream) return;
    grpc::ClientContext context;
    context.set_deadline(in_time(kStandTime));
    Empty empty;
    stream->stub().Stand(&context, standing, &empty);
  }

  void tell_copied(const std::string& backup) {
    std::unique_lock lock(mutex_);
    copied_ = backup;
    const std::shared_ptr<Stream> stream = is_welcome_ ? stream_ : nullptr;
    lock.unlock();
    if (stream) tell_copied(*stream, backup);
  }

 private:
  // One stream, gRPC's side of it. A channel that has failed once would wait for seconds before it tries again, so each
  // stream has its own.
  class Stream final : public grpc::ClientReadReactor<Notice> {
   public:
    explicit Stream(Attending& attending)
        : attending_(attending),
          stub_(Scheduler::NewStub(
              open_channel(attending.job_, attending.schedulers_[attending.present_], attending.are_several_))) {}

    Scheduler::Stub& stub() noexcept { return *stub_; }

    void begin(Node node) {
      node_ = std::move(node);
      stub_->async()->Attend(&context_, &node_, this);
      StartRead(&notice_);
      StartCall();
    }
    void cancel() { context_.TryCancel(); }

    void OnReadDone(bool ok) override {
      if (!ok) return;
      attending_.hear(notice_);
      StartRead(&notice_);
    }
    void OnDone(const grpc::Status& status) override {
      std::lock_guard guard(attending_.mutex_);
      status_ = status;
      is_done_ = true;
      attending_.changed_.notify_all();
    }

    // Guarded by the mutex of the other.
    bool is_done() const noexcept { return is_done_; }
    const grpc::Status& status() const noexcept { return status_; }

   private:
    Attending& attending_;
    const std::unique_ptr<Scheduler::Stub> stub_;
    grpc::ClientContext context_;
    Node node_;
    Notice notice_;
    grpc::Status status_;
    bool is_done_ = false;
  };

  void run() {
    while (true) {
      const grpc::Status status = converse();
      std::unique_lock lock(mutex_);
      if (is_closing_ || is_over_) return;
      retries_.broke();
      if (const std::string why = hopeless(status); !why.empty()) {
        lock.unlock();
        return end(why);
      }
      tell_of_silence(status);
      present_ = (present_ + 1) % schedulers_.size();
      if (++tried_ % schedulers_.size() != 0) continue;
      changed_.wait_for(lock, retries_.next_pause(), [&] { return is_closing_ || is_over_; });
    }
  }

  // Once in a row of attempts that fail, and once more when they have failed for long. mutex_ is locked.
  void tell_of_silence(const grpc::Status& status) {
    const std::string why = status.ok() ? "the scheduler has closed the connection" : status.error_message();
    if (!std::exchange(is_break_told_, true))
      report(job_.verbosity, Verbosity::kNodes,
             "{}: the connection to the scheduler at {} broke ({}); it is made again", own_text(),
             schedulers_[present_], why);
    const double left = std::chrono::duration<double>(retries_.time_left()).count();
    if (left > kMostHopeful * retries_.seconds() || std::exchange(is_silence_told_, true)) return;
    log(LogLevel::kWarn,
        "distributed: {}: the scheduler cannot be reached at {} ({}); it may not run yet, or want certificates of its "
        "job; it is tried for {:.3g} seconds more",
        own_text(), fmt::join(schedulers_, ", "), why, left);
  }

  Milliseconds longest_pause() const { return are_several_ ? kShortPause : kLongestPause; }

  // Where another scheduler can be asked, one that does not greet soon is passed over, at first.
  Milliseconds greeting_time() const {
    const Milliseconds usual = retries_.greeting_time();
    return are_several_
               ? std::min<Milliseconds>(usual, kShortGreeting * static_cast<int>(1 + tried_ / schedulers_.size()))
               : usual;
  }

  // One stream, from its begin to its end.
  grpc::Status converse() {
    const auto stream = std::make_shared<Stream>(*this);
    std::unique_lock lock(mutex_);
    if (is_closing_ || is_over_) return grpc::Status::OK;
    stream_ = stream;
    retries_.begins();
    Node node = node_;
    lock.unlock();
    stream->begin(std::move(node));
    lock.lock();
    const auto must_end = [&] { return is_closing_ || is_over_ || stream->is_done(); };
    if (changed_.wait_for(lock, greeting_time(), [&] { return is_welcome_ || must_end(); }))
      changed_.wait(lock, must_end);
    lock.unlock();
    stream->cancel();
    lock.lock();
    changed_.wait(lock, [&] { return stream->is_done(); });
    stream_.reset();
    is_welcome_ = false;
    changed_.notify_all();
    return stream->status();
  }

  // That it does not come does not matter while the stream lasts: it is told anew by the next one.
  void tell_copied(Stream& stream, const std::string& backup) {
    struct Telling {
      grpc::ClientContext context;
      Copied copied;
      Empty empty;
    };
    const auto telling = std::make_shared<Telling>();
    telling->copied.set_token(node_.token());
    telling->copied.set_backup(backup);
    stream.stub().async()->HasCopied(&telling->context, &telling->copied, &telling->empty,
                                     [telling](const grpc::Status&) {});
  }

  // Why no other stream is tried when one has ended so; empty: it is. mutex_ is locked.
  std::string hopeless(const grpc::Status& status) const {
    if (Retries::is_refusal(status.error_code()))
      return fmt::format("the scheduler at {} refuses: {}", schedulers_[present_], status.error_message());
    if (!are_several_ && has_ended(scheduler_process_))
      return fmt::format("the scheduler was lost: its process at {} has ended", schedulers_[0]);
    if (retries_.time_left() > Milliseconds(0)) return {};
    return fmt::format(
        "the scheduler {}cannot be reached at {} for {} seconds ({}); check that it runs, that this machine reaches "
        "DMLC_PS_ROOT_URI and DMLC_PS_ROOT_PORT (or HEADRACE_SCHEDULERS), and that all nodes have certificates of one "
        "job, or give it longer by "
        "HEADRACE_RETRY_SECONDS",
        cluster_ ? "was lost: it " : "", fmt::join(schedulers_, ", "), retries_.seconds(),
        status.ok() ? "it has closed the stream" : status.error_message());
  }

  // Gives what the scheduler answers when all workers have come. Who is interrupted counts as come.
  static grpc::Status arrive(Stream& stream, const Arrival& arrival) {
    grpc::ClientContext context;
    Empty empty;
    std::mutex mutex;
    std::condition_variable answered;
    std::optional<grpc::Status> answer;
    stream.stub().async()->Barrier(&context, &arrival, &empty, [&](grpc::Status status) {
      std::lock_guard guard(mutex);
      answer = std::move(status);
      answered.notify_all();
    });
    std::unique_lock lock(mutex);
    const auto is_answered = [&] { return answer.has_value(); };
    try {
      interruptible_wait(answered, lock, is_answered);
    } catch (...) {
      context.TryCancel();
      answered.wait(lock, is_answered);
      throw;
    }
    return *answer;
  }

  // The stream by which the scheduler can be asked; waits until there is one.
  std::shared_ptr<Stream> present() {
    std::unique_lock lock(mutex_);
    interruptible_wait(changed_, lock, [&] { return is_over_ || is_welcome_; });
    check(!is_over_, ErrorKind::kRuntime, "kvstore barrier: {}", why_.empty() ? "the job is over" : why_);
    return stream_;
  }

  // That it cannot be said is not worth an error.
  void leave() {
    const auto deadline = Clock::now() + kLeaveTime;
    Leaving leaving;
    leaving.set_token(node_.token());
    while (Clock::now() < deadline) {
      std::unique_lock lock(mutex_);
      if (!changed_.wait_until(lock, deadline, [&] { return is_over_ || is_welcome_; }) || is_over_) return;
      const std::shared_ptr<Stream> stream = stream_;
      lock.unlock();
      grpc::ClientContext context;
      Empty empty;
      const bool is_said = [&] {
        const TimeLimit limit(context, deadline - Clock::now());
        return stream->stub().Leave(&context, leaving, &empty).ok();
      }();
      if (is_said) return;
      lock.lock();
      changed_.wait_until(lock, deadline, [&] { return is_over_ || stream_ != stream; });
    }
  }

  void close() {
    {
      std::lock_guard guard(mutex_);
      is_closing_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }

  void welcome(const Welcome& welcome) {
    std::unique_lock lock(mutex_);
    scheduler_process_ = welcome.process();
    is_welcome_ = true;
    tried_ = 0;
    is_break_told_ = is_silence_told_ = false;
    if (std::exchange(has_joined_, true) == false) retries_ = Retries(Milliseconds(job_.retry_ms), longest_pause());
    retries_.opened();
    retries_.answered();
    changed_.notify_all();
    const std::string copied = copied_;
    const std::shared_ptr<Stream> stream = stream_;
    lock.unlock();
    if (!copied.empty() && stream) tell_copied(*stream, copied);
  }

  void hear(const Notice& notice) {
    if (notice.has_welcome()) return welcome(notice.welcome());
    if (notice.has_standstill()) return observer_.stands(notice.standstill());
    {
      std::lock_guard guard(mutex_);
      node_.set_heard(node_.heard() + 1);
    }
    switch (notice.what_case()) {
      case Notice::kCluster: {
        std::lock_guard guard(mutex_);
        cluster_ = notice.cluster();
        workers_ = static_cast<int>(cluster_->workers());
        servers_.assign(cluster_->servers().begin(), cluster_->servers().end());
        report_cluster();
        changed_.notify_all();
        return;
      }
      case Notice::kDeparture: {
        const Departure& told = notice.departure();
        const Departed departed{told.role() == WORKER ? Role::kWorker : Role::kServer, static_cast<int>(told.rank()),
                                told.lost(), told.incarnation()};
        if (departed.role == Role::kWorker && departed.is_lost && !is_open()) ++lost_workers_;  // Crowd says it there
        report(job_.verbosity, Verbosity::kNodes, "{}: {}", own_text(), text_of(departed));
        observer_.departed(departed);
        return;
      }
      case Notice::kCrowd:
        workers_ = static_cast<int>(notice.crowd().workers());
        lost_workers_ = static_cast<int>(notice.crowd().lost());
        return;
      case Notice::kServing:
        report(job_.verbosity, Verbosity::kNodes, "{}: server {} is at {}", own_text(), notice.serving().server(),
               notice.serving().address());
        return observer_.serving(notice.serving());
      case Notice::kRefusal:
        return end(notice.refusal());
      case Notice::kFinished:
        return end({});
      case Notice::kWelcome:
      case Notice::kStandstill:
      case Notice::WHAT_NOT_SET:
        return;
    }
  }

  // "worker 1"; without the number as long as that is not known.
  std::string own_text() const {
    return cluster_ ? fmt::format("{} {}", role_name(job_.role), rank()) : role_name(job_.role);
  }

  void report_cluster() const {
    if (job_.verbosity < Verbosity::kNodes) return;
    std::vector<std::string> addresses;
    for (const Serving& one : servers_) addresses.push_back(one.address());
    report(job_.verbosity, Verbosity::kNodes,
           "{}: it takes part in the job of the scheduler at {}: {} workers, servers at {}", own_text(),
           schedulers_[present_], workers_.load(), fmt::join(addresses, ", "));
  }

  // The first reason counts.
  void end(const std::string& why) {
    bool has_begun = false;
    {
      std::lock_guard guard(mutex_);
      if (std::exchange(is_over_, true)) return;
      why_ = why;
      report(job_.verbosity, Verbosity::kNodes, "{}: its part in the job is over{}{}", own_text(),
             why.empty() ? "" : ": ", why);
      has_begun = cluster_.has_value();
      changed_.notify_all();
    }
    if (has_begun) observer_.ended(why);
  }

  const Job job_;
  const bool are_several_;                     // of which one leads
  const std::vector<std::string> schedulers_;  // where they are
  const Observer observer_;
  std::mutex barrier_mutex_;  // of a barrier, from its begin to its end
  uint64_t barriers_ = 0;     // guarded by barrier_mutex_
  std::mutex mutex_;
  std::condition_variable changed_;
  Node node_;                                             // as it comes next; these: guarded by mutex_
  std::shared_ptr<Stream> stream_;                        // the present one
  bool is_welcome_ = false;                               // it takes requests
  bool has_joined_ = false;                               // the node was welcome once
  std::string copied_;                                    // backup that has all; empty: none that has come later
  size_t present_ = 0;                                    // which of the schedulers the stream is to
  size_t tried_ = 0;                                      // how many in turn have failed
  bool is_break_told_ = false, is_silence_told_ = false;  // of these
  std::string scheduler_process_;
  Retries retries_;
  std::optional<Cluster> cluster_;  // written once
  std::vector<Serving> servers_;    // with it
  bool is_over_ = false;
  std::string why_;
  bool is_closing_ = false;
  std::atomic<int> workers_{0}, lost_workers_{0};
  std::thread thread_;
};

Membership::Membership(const Job& job, const std::string& address, Observer observer)
    : attending_(std::make_unique<Attending>(job, address, std::move(observer))) {}
Membership::~Membership() = default;
int Membership::rank() const noexcept { return attending_->rank(); }
uint64_t Membership::incarnation() const noexcept { return attending_->incarnation(); }
const std::vector<Serving>& Membership::servers() const noexcept { return attending_->servers(); }
void Membership::barrier() { attending_->barrier(); }
void Membership::stand(Standing standing) { attending_->stand(std::move(standing)); }
void Membership::tell_copied(const std::string& backup) { attending_->tell_copied(backup); }
int Membership::workers() const noexcept { return attending_->workers(); }
bool Membership::is_open() const noexcept { return attending_->is_open(); }
bool Membership::has_joined() const noexcept { return attending_->has_joined(); }
int Membership::lost_workers() const noexcept { return attending_->lost_workers(); }

}  // namespace headrace::distributed
