// Link: a worker's stream to one server. Any thread.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "distributed/connection.h"
#include "distributed/job.h"

namespace headrace::distributed {

// What becomes of a request. Called once, by a thread of the link, which it must not hold up.
using Hear = std::function<void(const grpc::Status&, Reply&&, Elements&&)>;

class Link {
 public:
  // Waits until the server is reached; if it cannot be, whoever asks is told.
  Link(const Job& job, const std::string& address, std::shared_ptr<OwnHeap> heap);
  // Everything that was asked has been answered, or nobody waits for it any more.
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  BlockPtr block_for(size_t bytes) { return connection_->block_for(bytes); }
  void ask(Request request, Load load, Hear hear);

 private:
  class Stream;
  void notify();
  void hear(Reply&& reply, Elements&& elements);
  void end(const grpc::Status& status);

  grpc::GenericStub stub_;
  const std::unique_ptr<Stream> stream_;
  std::shared_ptr<Connection> connection_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint64_t, Hear> asked_;  // by number; these: guarded by mutex_
  uint64_t last_number_ = 0;
  bool is_over_ = false;   // nothing is answered any more
  bool is_ended_ = false;  // and gRPC has ended the stream
  grpc::Status status_;    // by which it is over
};

}  // namespace headrace::distributed
