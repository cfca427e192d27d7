// How the processes of a job reach each other: encrypted by the certificates of the job, or not at all.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "distributed/job.h"

namespace headrace::distributed {

// To a process of the job. It connects when it is used. `has_others`: that one may be silent, for others do as well; it
// is noticed soon. Raises OSError where certificates cannot be read.
std::shared_ptr<grpc::Channel> open_channel(const Job& job, const std::string& address, bool has_others = false);

// As a client. `named_by`: says in an error what names the files. Raises OSError where one cannot be read.
std::shared_ptr<grpc::ChannelCredentials> credentials_of(const TlsFiles& files, const std::string& named_by);
// By the certificates of a job; no folder: in plain text.
std::shared_ptr<grpc::ChannelCredentials> credentials_of(const std::string& folder);

// Serves `service` at `host`; `port` 0 takes a free one and stores it. Raises OSError, naming the address, when it
// cannot listen there.
std::unique_ptr<grpc::Server> serve_at(const Job& job, const std::string& host, int& port, grpc::Service& service);

// After how long an idle connection is asked for a sign of life, and after how long without one it is closed: within
// half of the silence of the job, so that the other half is left to make another one. In a hurry: as soon as can be.
struct Pings {
  int every_ms = 0, answer_ms = 0;
};
Pings pings(const Job& job, bool is_in_a_hurry);

std::string address_of(const std::string& host, int port);

// As gRPC takes deadlines: so long from now.
gpr_timespec in_time(std::chrono::nanoseconds time);

// Ends a call that takes longer than it may, as long as this object is there. gRPC's own deadline alone does not where
// somebody has set the wall clock back: its timers then wait for a moment that comes so much later.
class TimeLimit {
 public:
  // Before the call begins.
  TimeLimit(grpc::ClientContext& context, std::chrono::nanoseconds time);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;  // guarded by mutex_
  std::thread waiting_;
};

// Why a call has failed.
std::string text_of(const grpc::Status& status);
// What has become of a call, as the Error that a user sees: `what` says who was asked for what.
[[noreturn]] void raise_status(const grpc::Status& status, const std::string& what);

}  // namespace headrace::distributed
