// Clients: what a server knows of the workers it serves, across their streams: which requests it has served, and the
// answers that it still owes. Any thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "distributed/connection.h"

namespace headrace::distributed {

// One worker. Its requests are numbered from 1 on, and come in order: when a stream breaks it repeats, on the next one,
// those that it has no answer to. What changes nothing is served again then; other answers are kept until the worker
// says that they have come.
class Client {
 public:
  Client(uint32_t rank, std::shared_ptr<OwnHeap> heap)
      : rank_(rank), loans_(std::make_shared<Loans>(std::move(heap))) {}

  uint32_t rank() const noexcept { return rank_; }
  // What has been served: all requests up to a number.
  struct Served {
    uint64_t incarnation, last;
  };
  Served served() const;

  // Another stream of the worker, which begins by the greeting, takes the place of the one before. Raises RuntimeError
  // for an incarnation that is older than one that was here.
  void enter(const Greeting& greeting, std::shared_ptr<Connection> connection);
  // Whether no other stream has taken its place.
  bool is_latest(const Connection& connection) const;

  // Whether a request that has come by this connection is to be served. One that was served before is answered again;
  // what comes by another stream than the latest is dropped. Raises RuntimeError when requests before it are missing.
  bool admit(const Request& request, const Connection& from);
  void answer(uint64_t incarnation, Reply reply, Load load);
  // Their answers have come.
  void forget(const Frame& frame, const Connection& from);

  BlockPtr block_for(size_t bytes) const;

 private:
  const uint32_t rank_;
  const std::shared_ptr<Loans> loans_;
  mutable std::mutex mutex_;
  std::shared_ptr<Connection> connection_;  // of the latest stream; these: guarded by mutex_
  uint64_t incarnation_ = 0;
  uint64_t last_ = 0;                  // request that has come
  std::set<uint64_t> waiting_;         // for an answer
  std::map<uint64_t, Reply> answers_;  // that may not have come
};

class Clients {
 public:
  Clients(int workers, std::shared_ptr<OwnHeap> heap) : workers_(workers), heap_(std::move(heap)) {}

  // A stream begins. Raises ValueError for a rank that the job does not have, and as Client::enter().
  std::shared_ptr<Client> enter(const Greeting& greeting, std::shared_ptr<Connection> connection);
  // By rank.
  std::map<uint32_t, Client::Served> served();

 private:
  const int workers_;
  const std::shared_ptr<OwnHeap> heap_;
  std::mutex mutex_;
  std::map<uint32_t, std::shared_ptr<Client>> clients_;  // by rank; guarded by mutex_
};

}  // namespace headrace::distributed
