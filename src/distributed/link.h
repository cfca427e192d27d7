// Link: a worker's conversation with one server, over one stream at a time: when that breaks it begins another, and
// repeats what has not been answered. Any thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "distributed/connection.h"
#include "distributed/job.h"
#include "distributed/retries.h"

namespace headrace::distributed {

// What becomes of a request. Called once, by a thread of the link, which it must not hold up.
using Hear = std::function<void(const grpc::Status&, Reply&&, Elements&&)>;

// Who asks.
struct Identity {
  uint32_t rank = 0;
  uint64_t incarnation = 0;
  uint64_t epoch = 0;       // in which the server serves; 0: the job has no replicas
  bool is_primary = false;  // a server asks, of its backup
};

class Link {
 public:
  // Begins to reach the server. It tries, with pauses that grow, as long as the job says; whoever asks, and has no
  // answer then, is told.
  Link(const Job& job, const std::string& address, const Identity& identity, std::shared_ptr<OwnHeap> heap);
  // Everything that was asked has been answered, or nobody waits for it any more.
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Waits until the server is reached, or cannot be.
  void await();
  // Another process serves from now on: what has not been answered is repeated there. Nothing for an epoch that is
  // past.
  void move(const std::string& address, uint64_t epoch);
  // Whoever waits for an answer, or asks from now on, is told this.
  void give_up(const std::string& why);
  BlockPtr block_for(size_t bytes);
  // Served once, in the order of the calls.
  void ask(Request request, Load load, Hear hear);

 private:
  class Stream;
  struct Asked {
    Request request;
    Load load;
    Hear hear;
  };

  void run();
  // One stream, from its begin to its end.
  grpc::Status converse();
  void greeted(Stream& stream);
  void hear(const Stream& stream, Reply&& reply, Elements&& elements);
  void end(const grpc::Status& status);
  void notify();

  // --- these: mutex_ is locked ---
  Caller caller() const;
  std::optional<grpc::Status> hopeless(const grpc::Status& status) const;

  const Job job_;
  const Identity identity_;
  const std::shared_ptr<OwnHeap> heap_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string address_;  // these: guarded by mutex_
  uint64_t epoch_;
  std::shared_ptr<Loans> loans_;     // with the present process
  std::map<uint64_t, Asked> asked_;  // by number, without an answer
  uint64_t last_number_ = 0;
  std::shared_ptr<Stream> stream_;  // the present one
  bool is_open_ = false;            // it takes requests
  bool has_moved_ = false;          // since it began
  bool is_ending_ = false;
  bool is_over_ = false;  // nothing is answered any more
  grpc::Status status_;   // by which it is over
  Retries retries_;
  std::thread thread_;
};

}  // namespace headrace::distributed
