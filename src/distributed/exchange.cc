#include "distributed/exchange.h"

#include <mutex>
#include <utility>

#include "base/check.h"
#include "distributed/arrows.h"

namespace headrace::distributed {

void Asker::tell(Reply reply, Load load) const {
  reply.set_number(number_);
  if (server_) tell_sent({*server_, incarnation_, number_, true});
  if (server_ && verbosity_ >= Verbosity::kMessages)
    report(verbosity_, Verbosity::kMessages, "server at {}: answers request {} of {}: {} bytes", *server_, number_,
           Clients::text_of(*client_), load.block ? load.bytes : load.elements.size());
  if (!backup_) return client_->answer(incarnation_, std::move(reply), std::move(load));
  backup_->after([client = client_, incarnation = incarnation_, reply = std::move(reply), load = std::move(load)] {
    client->answer(incarnation, reply, load);
  });
}

void Asker::answer(const grpc::Status& status) const {
  Reply reply;
  reply.set_code(static_cast<uint32_t>(status.error_code()));
  reply.set_error(status.error_message());
  tell(std::move(reply), {});
}

void Asker::answer(std::string text) const {
  Reply reply;
  reply.set_answer(std::move(text));
  tell(std::move(reply), {});
}

void Asker::answer(Array value, Load load) const {
  Reply reply;
  *reply.mutable_value() = std::move(value);
  tell(std::move(reply), std::move(load));
}

void Asker::arrive(const std::string& server) {
  server_ = &server;
  tell_received({server, incarnation_, number_, false});
}

namespace {

class Exchange final : public Stream {
 public:
  Exchange(Clients& clients, std::shared_ptr<Backup> backup, ServeAll serve, Verbosity verbosity)
      : clients_(clients),
        backup_(std::move(backup)),
        serve_(std::move(serve)),
        verbosity_(verbosity),
        gate_(std::make_shared<Gate>(this)),
        connection_(std::make_shared<Connection>([this](const grpc::ByteBuffer* frame) { StartWrite(frame); })) {
    StartRead(&frame_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return finish(grpc::Status::OK);
    std::vector<Asked> asked;
    try {
      connection_->receive(
          frame_, {.greeting = [this](const Greeting& greeting) { enter(greeting); },
                   .request =
                       [&](Request&& request, Elements&& elements) {
                         const Asker asker(client_, incarnation_, request.number(),
                                           Clients::is_primary(*client_) ? nullptr : backup_, verbosity_);
                         asked.push_back({std::move(request), std::move(elements), asker, client_, connection_});
                       },
                   .reply = [](Reply&&, Elements&&) { fail(ErrorKind::kValue, "distributed: a worker has answered"); },
                   .answered = [this](const Frame& head) { client_->forget(head, *connection_); }});
      clients_.check_listened_to(*client_, *connection_);
    } catch (const NotServing& error) {
      return finish({grpc::StatusCode::UNAVAILABLE, error.what()});
    } catch (const std::exception& error) {
      return finish({grpc::StatusCode::FAILED_PRECONDITION, error.what()});
    }
    frame_.Clear();
    serve_(std::move(asked), [gate = gate_] {
      std::lock_guard guard(gate->mutex);
      if (gate->open) gate->open->StartRead(&gate->open->frame_);
    });
  }
  void OnWriteDone(bool ok) override {
    connection_->written(ok);
    std::lock_guard guard(gate_->mutex);
    finish_if_due();
  }
  void OnCancel() override { finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }

 private:
  // What outlives the stream, for those who come late.
  struct Gate {
    explicit Gate(Exchange* stream) : open(stream) {}
    std::mutex mutex;
    Exchange* open;  // null: nothing is read any more
  };

  void enter(const Greeting& greeting) {
    if (!greeting.has_caller()) return connection_->hear(greeting);
    check(!client_, ErrorKind::kValue, "distributed: a stream began twice");
    client_ = clients_.enter(greeting, connection_);
    incarnation_ = greeting.caller().incarnation();
    report(verbosity_, Verbosity::kNodes, "server: {} has connected", Clients::text_of(*client_));
  }

  void finish(const grpc::Status& status) {
    connection_->close();
    std::lock_guard guard(gate_->mutex);
    if (!std::exchange(gate_->open, nullptr)) return;
    if (client_)
      report(verbosity_, Verbosity::kNodes, "server: the connection of {} is over{}{}", Clients::text_of(*client_),
             status.ok() ? "" : ": ", status.error_message());
    status_ = status;
    finish_if_due();
  }

  // After what is being written; guarded by the mutex of the gate.
  void finish_if_due() {
    if (!gate_->open && connection_->is_quiet() && !std::exchange(is_finished_, true)) Finish(status_);
  }

  Clients& clients_;
  const std::shared_ptr<Backup> backup_;
  const ServeAll serve_;
  const Verbosity verbosity_;
  const std::shared_ptr<Gate> gate_;
  const std::shared_ptr<Connection> connection_;
  std::shared_ptr<Client> client_;  // whose stream it is
  uint64_t incarnation_ = 0;
  grpc::ByteBuffer frame_;
  grpc::Status status_;
  bool is_finished_ = false;
};

}  // namespace

Stream* open_stream(Clients& clients, std::shared_ptr<Backup> backup, ServeAll serve, Verbosity verbosity) {
  return new Exchange(clients, std::move(backup), std::move(serve), verbosity);
}

}  // namespace headrace::distributed
