#include "distributed/link.h"

#include <chrono>
#include <utility>

#include "base/check.h"
#include "distributed/channel.h"

namespace headrace::distributed {
namespace {

constexpr const char* kMethod = "/headrace.distributed.Server/Exchange";
constexpr std::chrono::seconds kEndTime{2};  // within which the server closes the stream

}  // namespace

// gRPC's side of it. While it is held its end is not told, and others may begin to write.
class Link::Stream final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit Stream(Link& link) : link_(link) {}

  void begin() {
    link_.stub_.PrepareBidiStreamingCall(&context_, kMethod, {}, this);
    AddHold();
    StartRead(&frame_);
    StartCall();
  }
  void write(const grpc::ByteBuffer* frame) { StartWrite(frame); }
  void cancel() { context_.TryCancel(); }
  // Tells the server that nothing more comes.
  void finish() {
    std::lock_guard guard(mutex_);
    if (!is_let_go_) StartWritesDone();
  }

  void OnReadDone(bool ok) override {
    if (ok) {
      try {
        link_.connection_->receive(
            frame_, [](Request&&, Elements&&) { fail(ErrorKind::kValue, "distributed: a server has asked something"); },
            [this](Reply&& reply, Elements&& elements) { link_.hear(std::move(reply), std::move(elements)); });
        frame_.Clear();
        link_.notify();
        return StartRead(&frame_);
      } catch (const std::exception& error) {
        why_ = error.what();
        cancel();
      }
    }
    link_.connection_->close();
    std::lock_guard guard(mutex_);
    is_let_go_ = true;
    RemoveHold();
  }
  void OnWriteDone(bool ok) override {
    link_.connection_->written(ok);
    link_.notify();
  }
  void OnDone(const grpc::Status& status) override {
    link_.end(why_.empty() ? status : grpc::Status(grpc::StatusCode::INTERNAL, why_));
  }

 private:
  Link& link_;
  grpc::ClientContext context_;
  grpc::ByteBuffer frame_;
  std::string why_;
  std::mutex mutex_;
  bool is_let_go_ = false;
};

Link::Link(const Job& job, const std::string& address, std::shared_ptr<OwnHeap> heap)
    : stub_(open_channel(job, address)),
      stream_(std::make_unique<Stream>(*this)),
      connection_(std::make_shared<Connection>(std::move(heap),
                                               [this](const grpc::ByteBuffer* frame) { stream_->write(frame); })) {
  stream_->begin();
  connection_->greet();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_over_ || connection_->is_greeted(); });
}

Link::~Link() {
  connection_->close();
  std::unique_lock lock(mutex_);
  const auto is_ended = [&] { return is_ended_; };
  changed_.wait(lock, [&] { return is_ended_ || connection_->is_quiet(); });
  lock.unlock();
  stream_->finish();
  lock.lock();
  if (!changed_.wait_for(lock, kEndTime, is_ended)) stream_->cancel();
  changed_.wait(lock, is_ended);
}

void Link::notify() {
  std::lock_guard guard(mutex_);
  changed_.notify_all();
}

void Link::ask(Request request, Load load, Hear hear) {
  std::unique_lock lock(mutex_);
  if (is_over_) {
    const grpc::Status status = status_;
    lock.unlock();
    return hear(status, {}, {});
  }
  request.set_number(++last_number_);
  asked_.emplace(last_number_, std::move(hear));
  connection_->send(std::move(request), std::move(load));
}

void Link::hear(Reply&& reply, Elements&& elements) {
  std::unique_lock lock(mutex_);
  auto found = asked_.extract(reply.number());
  lock.unlock();
  check(!found.empty(), ErrorKind::kValue, "distributed: a server has answered what nobody asked");
  const grpc::Status status(static_cast<grpc::StatusCode>(reply.code()), reply.error());
  found.mapped()(status, std::move(reply), std::move(elements));
}

// Whoever waits for an answer gets none.
void Link::end(const grpc::Status& status) {
  const grpc::Status why = status.ok() ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server has ended") : status;
  std::map<uint64_t, Hear> unanswered;
  {
    std::lock_guard guard(mutex_);
    is_over_ = true;
    status_ = why;
    unanswered.swap(asked_);
  }
  for (auto& [number, hear] : unanswered) hear(why, {}, {});
  std::lock_guard guard(mutex_);
  is_ended_ = true;
  changed_.notify_all();
}

}  // namespace headrace::distributed
