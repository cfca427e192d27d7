#include "distributed/scheduler.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <vector>

#include "base/check.h"
#include "distributed/channel.h"
#include "distributed/protocol.grpc.pb.h"

namespace headrace::distributed {
namespace {

constexpr std::chrono::minutes kGatheringTime{5};  // within which all nodes have to come
constexpr std::chrono::seconds kPartingTime{5};    // within which servers end

class Gathering;

// A node that takes part: the open stream to it. Deletes itself when that is over.
class Attendance final : public grpc::ServerWriteReactor<Notice> {
 public:
  Attendance(Gathering& gathering, const Node& node) : gathering_(gathering), node_(node) {}

  const Node& node() const noexcept { return node_; }
  const char* role() const noexcept { return node_.role() == WORKER ? "worker" : "server"; }

  // Any thread. Nothing is told after finish().
  void tell(Notice notice) {
    std::lock_guard guard(mutex_);
    if (is_closing_ || is_closed_) return;
    waiting_.push_back(std::move(notice));
    if (waiting_.size() == 1) StartWrite(&waiting_.front());
  }
  // After what it was told.
  void finish() {
    std::lock_guard guard(mutex_);
    is_closing_ = true;
    if (waiting_.empty()) close();
  }

  void OnWriteDone(bool ok) override {
    std::lock_guard guard(mutex_);
    waiting_.pop_front();
    if (!ok) waiting_.clear();
    if (!waiting_.empty())
      StartWrite(&waiting_.front());
    else if (is_closing_ || !ok)
      close();
  }
  void OnCancel() override;
  void OnDone() override;

  uint32_t rank = 0;
  uint64_t incarnation = 0;
  bool is_leaving = false;  // it has said so; guarded by the lock of the gathering

 private:
  void close() {  // guarded by mutex_
    if (!std::exchange(is_closed_, true)) Finish(grpc::Status::OK);
  }

  Gathering& gathering_;
  const Node node_;
  std::mutex mutex_;
  std::deque<Notice> waiting_;  // the first is being written
  bool is_closing_ = false, is_closed_ = false;
};

// Who takes part. Any thread.
class Gathering {
 public:
  explicit Gathering(const Job& job) : job_(job) {}

  void enter(Attendance& node) {
    std::lock_guard guard(mutex_);
    present_.insert(&node);
    if (std::string reason = seat(node); !reason.empty()) {
      tell_refusal(node, reason);
    } else if (!refusal_.empty()) {
      tell_refusal(node, refusal_);
    } else if (is_complete()) {
      for (std::vector<Attendance*>* nodes : {&workers_, &servers_})
        for (Attendance* one : *nodes) one->tell(cluster_for(*one));
      has_begun_ = true;
      changed_.notify_all();
    }
  }

  void leave(uint32_t rank) {
    std::lock_guard guard(mutex_);
    if (rank < workers_.size() && workers_[rank]) workers_[rank]->is_leaving = true;
  }

  // Its stream is broken or closed. Once per node; calls after the first change nothing.
  void depart(Attendance& node) {
    std::lock_guard guard(mutex_);
    if (present_.erase(&node) == 0) return;
    std::vector<Attendance*>& seats = seats_of(node);
    if (node.rank < seats.size() && seats[node.rank] == &node) {
      seats[node.rank] = nullptr;
      if (!has_begun_)
        refuse(fmt::format("{} {} was lost before all nodes had come", node.role(), node.rank));
      else
        tell_departure(node);
    }
    changed_.notify_all();
  }

  void meet(grpc::ServerUnaryReactor* reactor) {
    std::lock_guard guard(mutex_);
    if (departed_ > 0) {
      reactor->Finish({grpc::StatusCode::ABORTED, missing_});
      return;
    }
    met_.push_back(reactor);
    if (met_.size() == static_cast<size_t>(job_.workers)) answer_meeting(grpc::Status::OK);
  }

  // Waits until the job is over. Raises RuntimeError when it could not begin.
  void await_end() {
    std::unique_lock lock(mutex_);
    const auto in_time = changed_.wait_for(lock, kGatheringTime, [&] { return has_begun_ || !refusal_.empty(); });
    if (!in_time)
      refuse(fmt::format("after {} minutes {} of {} workers and {} of {} servers are there", kGatheringTime.count(),
                         count(workers_), job_.workers, count(servers_), job_.servers));
    if (has_begun_) changed_.wait(lock, [&] { return count(workers_) == 0; });
    Notice notice;
    notice.mutable_finished();
    for (Attendance* node : present_) {
      if (refusal_.empty()) node->tell(notice);
      node->finish();
    }
    changed_.wait_for(lock, kPartingTime, [&] { return present_.empty(); });
    check(refusal_.empty(), ErrorKind::kRuntime, "distributed: the job cannot begin: {}", refusal_);
  }

 private:
  std::vector<Attendance*>& seats_of(const Attendance& node) {
    return node.node().role() == WORKER ? workers_ : servers_;
  }
  static size_t count(const std::vector<Attendance*>& nodes) {
    return nodes.size() - static_cast<size_t>(std::ranges::count(nodes, nullptr));
  }
  bool is_complete() const {
    return count(workers_) == static_cast<size_t>(job_.workers) && count(servers_) == static_cast<size_t>(job_.servers);
  }

  // Gives a node its rank; what speaks against that.
  std::string seat(Attendance& node) {
    const Node& asks = node.node();
    if (asks.version() != kVersion)
      return fmt::format("the {} is Headrace {}, the scheduler {}; use one version", node.role(), asks.version(),
                         kVersion);
    if (asks.workers() != static_cast<uint32_t>(job_.workers) || asks.servers() != static_cast<uint32_t>(job_.servers))
      return fmt::format(
          "the {} was told of {} workers and {} servers, the scheduler of {} and {}; DMLC_NUM_WORKER and "
          "DMLC_NUM_SERVER are the same for all",
          node.role(), asks.workers(), asks.servers(), job_.workers, job_.servers);
    std::vector<Attendance*>& seats = seats_of(node);
    seats.resize(static_cast<size_t>(asks.role() == WORKER ? job_.workers : job_.servers));
    if (has_begun_) return "all nodes of the job are there already; is this a second job on one port?";
    const size_t free = static_cast<size_t>(std::ranges::find(seats, nullptr) - seats.begin());
    const size_t wanted = asks.rank() >= 0 ? static_cast<size_t>(asks.rank()) : free;
    if (free == seats.size())
      return fmt::format("there are {} {}s already; is this a second job on one port?", seats.size(), node.role());
    if (wanted >= seats.size() || seats[wanted])
      return fmt::format("rank {} of {} workers is asked for twice; DMLC_WORKER_ID differs between workers", wanted,
                         seats.size());
    seats[wanted] = &node;
    node.rank = static_cast<uint32_t>(wanted);
    node.incarnation = last_incarnation_ = std::max(last_incarnation_ + 1, microseconds());
    return {};
  }

  Notice cluster_for(const Attendance& node) const {
    Notice notice;
    Cluster& cluster = *notice.mutable_cluster();
    cluster.set_rank(node.rank);
    cluster.set_incarnation(node.incarnation);
    for (const Attendance* server : servers_) cluster.add_servers(server->node().address());
    return notice;
  }

  static void tell_refusal(Attendance& node, const std::string& reason) {
    Notice notice;
    notice.set_refusal(reason);
    node.tell(std::move(notice));
    node.finish();
  }

  void refuse(std::string reason) {
    if (!refusal_.empty()) return;
    refusal_ = std::move(reason);
    for (Attendance* node : present_) tell_refusal(*node, refusal_);
    changed_.notify_all();
  }

  void tell_departure(const Attendance& node) {
    Notice notice;
    Departure& departure = *notice.mutable_departure();
    departure.set_role(node.node().role());
    departure.set_rank(node.rank);
    departure.set_lost(!node.is_leaving);
    for (Attendance* other : present_) other->tell(notice);
    if (node.node().role() != WORKER) return;
    ++departed_;
    missing_ = fmt::format("worker {} {}", node.rank, node.is_leaving ? "has ended" : "was lost");
    answer_meeting({grpc::StatusCode::ABORTED, missing_});
  }

  void answer_meeting(const grpc::Status& status) {
    for (grpc::ServerUnaryReactor* one : met_) one->Finish(status);
    met_.clear();
  }

  static uint64_t microseconds() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  }

  static constexpr const char* kVersion = HEADRACE_VERSION;

  const Job& job_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<Attendance*> present_;
  std::vector<Attendance*> workers_, servers_;  // by rank; null where nobody is
  std::vector<grpc::ServerUnaryReactor*> met_;  // who waits at a barrier
  std::string refusal_, missing_;
  bool has_begun_ = false;
  int departed_ = 0;  // workers
  uint64_t last_incarnation_ = 0;
};

void Attendance::OnCancel() {
  gathering_.depart(*this);
  finish();
}

void Attendance::OnDone() {
  gathering_.depart(*this);
  delete this;
}

class Service final : public Scheduler::CallbackService {
 public:
  explicit Service(Gathering& gathering) : gathering_(gathering) {}

  grpc::ServerWriteReactor<Notice>* Attend(grpc::CallbackServerContext*, const Node* node) override {
    auto* const attendance = new Attendance(gathering_, *node);
    gathering_.enter(*attendance);
    return attendance;
  }
  grpc::ServerUnaryReactor* Barrier(grpc::CallbackServerContext* context, const Rank*, Empty*) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    gathering_.meet(reactor);
    return reactor;
  }
  grpc::ServerUnaryReactor* Leave(grpc::CallbackServerContext* context, const Rank* rank, Empty*) override {
    gathering_.leave(rank->number());
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  Gathering& gathering_;
};

}  // namespace

void run_scheduler(const Job& job) {
  Gathering gathering(job);
  Service service(gathering);
  int port = job.port;
  const std::unique_ptr<grpc::Server> server = serve_at(job, job.host, port, service);
  std::exception_ptr error;
  try {
    gathering.await_end();
  } catch (...) {
    error = std::current_exception();
  }
  server->Shutdown(std::chrono::system_clock::now() + kPartingTime);
  if (error) std::rethrow_exception(error);
}

}  // namespace headrace::distributed
