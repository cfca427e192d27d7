// Session: a worker's connection to its job: it knows the servers, and what is on its way. One per process.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "distributed/membership.h"
#include "distributed/protocol.grpc.pb.h"

namespace headrace::distributed {

class Session {
 public:
  // Joins the job of this process at the first call, and leaves it when the process ends. `type`: of the store that
  // needs it. Raises ValueError where the process has no job, or is no worker of it, and as Membership does.
  static Session& get(const std::string& type);

  // Joins. The job is a worker's.
  explicit Session(const Job& job);
  // Leaves, after what has to be sent was sent. Who waits for an answer, or asks now, gets none.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int rank() const noexcept { return membership_.rank(); }
  int workers() const noexcept { return workers_; }
  size_t servers() const noexcept { return stubs_.size(); }
  int lost_workers() const noexcept { return membership_.lost_workers(); }
  int take_store_number() noexcept { return stores_++; }
  void barrier();

  // What is to be sent or asked for later: the session does not end while the result is there.
  std::shared_ptr<void> announce();
  // Sends a push and returns; what becomes of it raise_failure() tells.
  void send(size_t server, std::shared_ptr<PushRequest> request);
  // Raises RuntimeError when a push has failed since, or a server or the scheduler was lost.
  void raise_failure() const;

  // What a server is asked for, and what comes back.
  template <class Request, class Reply>
  struct Call {
    size_t server;
    Request request;
    Reply reply = {};
  };
  // Sends all of them and waits for all answers. False: the process is ending, and nobody wants them. Raises what a
  // server says: ValueError for what is wrong with a request, RuntimeError for what has gone wrong.
  bool exchange(std::vector<Call<InitRequest, Empty>>& calls);
  bool exchange(std::vector<Call<PullRequest, Array>>& calls);
  bool exchange(std::vector<Call<CommandRequest, Empty>>& calls);

 private:
  template <class Request, class Reply, class Start>
  bool exchange_by(std::vector<Call<Request, Reply>>& calls, const char* what, const Start& start);
  void fail_with(const std::string& why);  // the first reason counts
  std::string name_of(size_t server) const;

  const int workers_;
  std::vector<std::unique_ptr<Server::Stub>> stubs_;
  std::atomic<int> stores_{0};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int announced_ = 0;  // these: guarded by mutex_
  bool is_ending_ = false;
  std::string failure_;  // what has gone wrong first
  std::set<grpc::ClientContext*> awaited_;
  Membership membership_;  // the last: its threads use what is above
};

}  // namespace headrace::distributed
