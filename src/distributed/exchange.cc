#include "distributed/exchange.h"

#include <mutex>
#include <utility>

#include "base/check.h"

namespace headrace::distributed {

void Asker::answer(const grpc::Status& status) const {
  Reply reply;
  reply.set_number(number_);
  reply.set_code(static_cast<uint32_t>(status.error_code()));
  reply.set_error(status.error_message());
  connection_->send(std::move(reply));
}

void Asker::answer(std::string text) const {
  Reply reply;
  reply.set_number(number_);
  reply.set_answer(std::move(text));
  connection_->send(std::move(reply));
}

void Asker::answer(Array value, Load load) const {
  Reply reply;
  reply.set_number(number_);
  *reply.mutable_value() = std::move(value);
  connection_->send(std::move(reply), std::move(load));
}

namespace {

class Exchange final : public Stream {
 public:
  Exchange(std::shared_ptr<OwnHeap> heap, ServeAll serve)
      : serve_(std::move(serve)),
        gate_(std::make_shared<Gate>(this)),
        connection_(std::make_shared<Connection>(std::move(heap),
                                                 [this](const grpc::ByteBuffer* frame) { StartWrite(frame); })) {
    StartRead(&frame_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return finish(grpc::Status::OK);
    std::vector<Asked> asked;
    try {
      connection_->receive(
          frame_,
          [&](Request&& request, Elements&& elements) {
            const uint64_t number = request.number();
            asked.push_back({std::move(request), std::move(elements), Asker(connection_, number)});
          },
          [](Reply&&, Elements&&) { fail(ErrorKind::kValue, "distributed: a worker has answered"); });
    } catch (const std::exception& error) {
      return finish({grpc::StatusCode::INVALID_ARGUMENT, error.what()});
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

  void finish(const grpc::Status& status) {
    connection_->close();
    std::lock_guard guard(gate_->mutex);
    if (!std::exchange(gate_->open, nullptr)) return;
    status_ = status;
    finish_if_due();
  }

  // After what is being written; guarded by the mutex of the gate.
  void finish_if_due() {
    if (!gate_->open && connection_->is_quiet() && !std::exchange(is_finished_, true)) Finish(status_);
  }

  const ServeAll serve_;
  const std::shared_ptr<Gate> gate_;
  const std::shared_ptr<Connection> connection_;
  grpc::ByteBuffer frame_;
  grpc::Status status_;
  bool is_finished_ = false;
};

}  // namespace

Stream* open_stream(std::shared_ptr<OwnHeap> heap, ServeAll serve) {
  return new Exchange(std::move(heap), std::move(serve));
}

}  // namespace headrace::distributed
