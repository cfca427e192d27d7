// A server's end of the stream of one worker.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <vector>

#include "distributed/backup.h"
#include "distributed/clients.h"
#include "distributed/verbosity.h"

namespace headrace::distributed {

// Who waits for what becomes of a request. It is answered once; whether anybody still listens does not matter. Any
// thread.
class Asker {
 public:
  // `backup`: what the answer tells of it has to know first; null: nothing.
  Asker(std::shared_ptr<Client> client, uint64_t incarnation, uint64_t number, std::shared_ptr<Backup> backup = nullptr,
        Verbosity verbosity = Verbosity::kQuiet) noexcept
      : client_(std::move(client)),
        incarnation_(incarnation),
        number_(number),
        backup_(std::move(backup)),
        verbosity_(verbosity) {}

  void answer(const grpc::Status& status) const;
  void answer(Array value, Load load) const;
  void answer(std::string text) const;
  // As Connection says.
  BlockPtr block_for(size_t bytes) const { return client_->block_for(bytes); }
  // Of the worker that asks.
  uint64_t incarnation() const noexcept { return incarnation_; }
  uint64_t number() const noexcept { return number_; }
  // The request has come to the thread of the server at this address, which outlives the asker.
  void arrive(const std::string& server);

 private:
  void tell(Reply reply, Load load) const;

  std::shared_ptr<Client> client_;
  uint64_t incarnation_;
  uint64_t number_;
  std::shared_ptr<Backup> backup_;
  Verbosity verbosity_;
  const std::string* server_ = nullptr;
};

// Whether a request is to be served at all the server's thread asks, so that requests are served in their order.
struct Asked {
  Request request;
  Elements elements;
  Asker asker;
  std::shared_ptr<Client> client;
  std::shared_ptr<Connection> connection;

  bool is_admitted() const { return client->admit(request, *connection); }
};

// Serves what has come, then calls `next`: nothing more is read before. Called by threads of gRPC.
using ServeAll = std::function<void(std::vector<Asked> asked, std::function<void()> next)>;

using Stream = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;
// Deletes itself when the stream is over. `clients` outlives it. `backup`: as an Asker has it.
Stream* open_stream(Clients& clients, std::shared_ptr<Backup> backup, ServeAll serve,
                    Verbosity verbosity = Verbosity::kQuiet);

}  // namespace headrace::distributed
