// ServedStore: the part of one store that a server holds: keys, rounds, and who waits for what. Belongs to one thread,
// that of the server.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "distributed/membership.h"
#include "distributed/messages.h"
#include "distributed/rounds.h"
#include "headrace/distributed.hpp"

namespace headrace::distributed {

// Answers a request; called once.
using Answer = std::function<void(const grpc::Status&)>;

class ServedStore {
 public:
  ServedStore(int number, int workers, bool asynchronous, ServerProgram& program);

  bool is_asynchronous() const noexcept { return asynchronous_; }

  // What the requests ask for. An answer may come later, from another call. What is raised is wrong with the request.
  void init(const InitRequest& request, Answer answer);
  void push(const PushRequest& request, const Answer& answer);
  void pull(const PullRequest& request, Array& reply, Answer answer);
  void command(const CommandRequest& request, const Answer& answer);

  // A worker is not there any more: who waits for what it has not done is told.
  void depart(const Departed& worker);
  // Answers all who wait.
  void give_up(const std::string& why);

 private:
  struct Pushed {
    NDArray value;
    uint64_t settings;
  };
  struct Pull {
    const PullRequest* request;
    Array* reply;
    Answer answer;
  };
  struct Entry {
    Entry(const Array& inited, size_t workers)
        : shape(shape_of(inited)),
          dtype(dtype_of(inited)),
          sparse(inited.sparse()),
          rounds(workers),
          applied(workers) {}

    Shape shape;
    DType dtype;
    bool sparse;
    bool is_ready = false;  // rank 0 has inited it
    std::vector<Answer> inits;
    std::vector<Pull> pulls;
    Rounds<Pushed> rounds;
    std::vector<uint64_t> applied;  // of an asynchronous store: how many pushes of each worker
    std::string error;              // why what is stored is not what it should be
  };

  size_t rank_of(const Place& place) const;
  Entry& find(const Place& place);
  NDArray pushed_value(const PushRequest& request, const Entry& entry) const;
  void spoil(const kvstore::Key& key, Entry& entry, const std::string& why);
  void take(const kvstore::Key& key, Entry& entry, const PushRequest& request);
  void close_rounds(const kvstore::Key& key, Entry& entry);
  void apply(const kvstore::Key& key, Entry& entry, std::vector<Pushed> pushed);
  void use_settings(uint64_t number);
  bool is_due(const Entry& entry, const PullRequest& request) const;
  void answer_pulls(const kvstore::Key& key, Entry& entry);
  void answer_pull(const kvstore::Key& key, const Entry& entry, const Pull& pull);
  void fill(const kvstore::Key& key, const Entry& entry, const PullRequest& request, Array& reply);
  // Why a pull will never be answered; empty: it may be.
  std::string hopeless(const Entry& entry, const PullRequest& request) const;
  void answer_hopeless(const kvstore::Key& key, Entry& entry);

  const int number_;
  const size_t workers_;
  const bool asynchronous_;
  ServerProgram& program_;
  const std::unique_ptr<kvstore::KVStore> store_;
  std::map<kvstore::Key, Entry> entries_;
  std::map<uint64_t, std::string> settings_;
  uint64_t used_settings_ = 0;
  std::map<int, std::string> commands_;     // by head: what was carried out last
  std::map<size_t, std::string> departed_;  // by rank: how
};

}  // namespace headrace::distributed
