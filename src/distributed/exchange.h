// A server's end of the stream of one worker.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <vector>

#include "distributed/connection.h"

namespace headrace::distributed {

// Who waits for what becomes of a request. It is answered once; whether anybody still listens does not matter. Any
// thread.
class Asker {
 public:
  Asker(std::shared_ptr<Connection> connection, uint64_t number) noexcept
      : connection_(std::move(connection)), number_(number) {}

  void answer(const grpc::Status& status) const;
  void answer(Array value, Load load) const;
  void answer(std::string text) const;
  // As Connection says.
  BlockPtr block_for(size_t bytes) const { return connection_->block_for(bytes); }

 private:
  std::shared_ptr<Connection> connection_;
  uint64_t number_;
};

struct Asked {
  Request request;
  Elements elements;
  Asker asker;
};

// Serves what has come, then calls `next`: nothing more is read before. Called by threads of gRPC.
using ServeAll = std::function<void(std::vector<Asked> asked, std::function<void()> next)>;

using Stream = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;
// Deletes itself when the stream is over.
Stream* open_stream(std::shared_ptr<OwnHeap> heap, ServeAll serve);

}  // namespace headrace::distributed
