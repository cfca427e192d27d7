#include "distributed/membership.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "base/check.h"
#include "distributed/channel.h"
#include "distributed/protocol.grpc.pb.h"

namespace headrace::distributed {
namespace {

using Clock = std::chrono::system_clock;  // gRPC's

constexpr std::chrono::seconds kConnectTime{60};
constexpr std::chrono::milliseconds kPause{50};  // between attempts to connect
constexpr std::chrono::seconds kLeaveTime{2};

}  // namespace

std::string text_of(const Departed& departed) {
  return fmt::format("{} {} {}", role_name(departed.role), departed.rank, departed.is_lost ? "was lost" : "has ended");
}

class Membership::Attending {
 public:
  Attending(const Job& job, const std::string& address, Observer observer)
      : job_(job), observer_(std::move(observer)), stub_(Scheduler::NewStub(connected())) {
    Node node;
    node.set_role(job.role == Role::kServer ? SERVER : WORKER);
    node.set_rank(job.role == Role::kWorker ? job.rank : -1);
    node.set_address(address);
    node.set_version(HEADRACE_VERSION);
    node.set_workers(static_cast<uint32_t>(job.workers));
    node.set_servers(static_cast<uint32_t>(job.servers));
    stream_ = stub_->Attend(&context_, node);
    listener_ = std::thread([this] { listen(); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return cluster_ || is_over_; });
    if (cluster_) return;
    const std::string why = why_;
    lock.unlock();
    close();
    fail(ErrorKind::kRuntime, "distributed: the {} cannot join: {}", role_name(job_.role), why);
  }

  ~Attending() {
    if (!listener_.joinable()) return;
    if (job_.role == Role::kWorker) {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + kLeaveTime);
      Empty empty;
      stub_->Leave(&context, own_rank(), &empty);  // that it cannot be said is not worth an error
    }
    close();
  }

  int rank() const noexcept { return static_cast<int>(cluster_->rank()); }
  uint64_t incarnation() const noexcept { return cluster_->incarnation(); }
  const std::vector<std::string>& servers() const noexcept { return servers_; }
  int lost_workers() const noexcept { return lost_workers_; }

  void barrier() {
    grpc::ClientContext context;
    Empty empty;
    const grpc::Status status = stub_->Barrier(&context, own_rank(), &empty);
    if (!status.ok()) raise_status(status, "kvstore barrier: not all workers can come");
  }

 private:
  // The scheduler may begin later than its nodes. A channel that has failed once would wait for seconds before it tries
  // again, so each attempt has its own.
  std::shared_ptr<grpc::Channel> connected() const {
    const std::string address = address_of(job_.host, job_.port);
    const auto deadline = Clock::now() + kConnectTime;
    while (true) {
      std::shared_ptr<grpc::Channel> channel = open_channel(job_, address);
      if (connects(*channel, deadline)) return channel;
      check(Clock::now() < deadline, ErrorKind::kRuntime,
            "distributed: the scheduler at {} does not answer within {} seconds; check that it runs, that "
            "DMLC_PS_ROOT_URI and DMLC_PS_ROOT_PORT name it, and that all nodes have certificates of one job",
            address, kConnectTime.count());
      std::this_thread::sleep_for(kPause);
    }
  }

  static bool connects(grpc::Channel& channel, Clock::time_point deadline) {
    grpc_connectivity_state state = channel.GetState(true);
    while (state != GRPC_CHANNEL_READY) {
      if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || !channel.WaitForStateChange(state, deadline)) return false;
      state = channel.GetState(true);
    }
    return true;
  }

  Rank own_rank() const {
    Rank rank;
    rank.set_number(cluster_->rank());
    return rank;
  }

  void close() {
    is_closing_ = true;
    context_.TryCancel();
    listener_.join();
  }

  void listen() {
    Notice notice;
    while (stream_->Read(&notice)) hear(notice);
    const grpc::Status status = stream_->Finish();
    if (is_closing_) return;
    end(status.ok() ? "the scheduler has ended" : "the scheduler was lost");
  }

  void hear(const Notice& notice) {
    switch (notice.what_case()) {
      case Notice::kCluster: {
        std::lock_guard guard(mutex_);
        cluster_ = notice.cluster();
        servers_.assign(cluster_->servers().begin(), cluster_->servers().end());
        changed_.notify_all();
        return;
      }
      case Notice::kDeparture: {
        const Departure& told = notice.departure();
        const Departed departed{told.role() == WORKER ? Role::kWorker : Role::kServer, static_cast<int>(told.rank()),
                                told.lost()};
        if (departed.role == Role::kWorker && departed.is_lost) ++lost_workers_;
        observer_.departed(departed);
        return;
      }
      case Notice::kRefusal:
        return end(notice.refusal());
      case Notice::kFinished:
        return end({});
      case Notice::WHAT_NOT_SET:
        return;
    }
  }

  // The first reason counts.
  void end(const std::string& why) {
    bool has_joined = false;
    {
      std::lock_guard guard(mutex_);
      if (std::exchange(is_over_, true)) return;
      why_ = why;
      has_joined = cluster_.has_value();
      changed_.notify_all();
    }
    if (has_joined) observer_.ended(why);
  }

  const Job job_;
  const Observer observer_;
  const std::unique_ptr<Scheduler::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<Notice>> stream_;
  std::thread listener_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Cluster> cluster_;  // written once
  std::vector<std::string> servers_;
  bool is_over_ = false;
  std::string why_;
  std::atomic<bool> is_closing_{false};
  std::atomic<int> lost_workers_{0};
};

Membership::Membership(const Job& job, const std::string& address, Observer observer)
    : attending_(std::make_unique<Attending>(job, address, std::move(observer))) {}
Membership::~Membership() = default;
int Membership::rank() const noexcept { return attending_->rank(); }
uint64_t Membership::incarnation() const noexcept { return attending_->incarnation(); }
const std::vector<std::string>& Membership::servers() const noexcept { return attending_->servers(); }
void Membership::barrier() { attending_->barrier(); }
int Membership::lost_workers() const noexcept { return attending_->lost_workers(); }

}  // namespace headrace::distributed
