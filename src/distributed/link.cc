#include "distributed/link.h"

#include <grpcpp/generic/generic_stub.h>

#include <utility>

#include "base/check.h"
#include "distributed/arrows.h"
#include "distributed/channel.h"
#include "distributed/messages.h"
#include "timeline/timeline.h"

namespace headrace::distributed {
namespace {

constexpr const char* kMethod = "/headrace.distributed.Server/Exchange";
constexpr std::chrono::seconds kEndTime{2};  // within which the server closes the stream

std::string text_of(const Identity& identity) {
  return fmt::format("{} {}", identity.is_primary ? "server" : "worker", identity.rank);
}

}  // namespace

// One stream, gRPC's side of it. While it is held its end is not told, and others may begin to write.
class Link::Stream final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Stream(Link& link, const std::string& address, std::shared_ptr<Loans> loans)
      : link_(link),
        loans_(std::move(loans)),
        stub_(open_channel(link.job_, address)),
        connection_(std::make_shared<Connection>([this](const grpc::ByteBuffer* frame) { StartWrite(frame); })) {}

  Connection& connection() noexcept { return *connection_; }

  void begin(Caller caller) {
    stub_.PrepareBidiStreamingCall(&context_, kMethod, {}, this);
    AddHold();
    StartRead(&frame_);
    StartCall();
    connection_->begin(loans_);
    connection_->greet(std::move(caller));
  }
  void cancel() { context_.TryCancel(); }
  // Tells the server that nothing more comes.
  void finish() {
    std::lock_guard guard(mutex_);
    if (!is_let_go_) StartWritesDone();
  }

  void OnReadDone(bool ok) override {
    if (ok) {
      try {
        connection_->receive(frame_, hearer());
        frame_.Clear();
        link_.notify();
        return StartRead(&frame_);
      } catch (const std::exception& error) {
        why_ = error.what();
        cancel();
      }
    }
    connection_->close();
    std::lock_guard guard(mutex_);
    is_let_go_ = true;
    RemoveHold();
  }
  void OnWriteDone(bool ok) override {
    connection_->written(ok);
    link_.notify();
  }
  void OnDone(const grpc::Status& status) override {
    std::lock_guard guard(link_.mutex_);
    status_ = why_.empty() ? status : grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, why_);
    is_done_ = true;
    link_.changed_.notify_all();
  }

  // Guarded by the mutex of the link.
  bool is_done() const noexcept { return is_done_; }
  const grpc::Status& status() const noexcept { return status_; }

 private:
  Hearer hearer() {
    return {
        .greeting =
            [this](const Greeting& greeting) {
              connection_->hear(greeting);
              link_.greeted(*this);
            },
        .request = [](Request&&, Elements&&) { fail(ErrorKind::kValue, "distributed: a server has asked something"); },
        .reply = [this](Reply&& reply,
                        Elements&& elements) { link_.hear(*this, std::move(reply), std::move(elements)); }};
  }

  Link& link_;
  const std::shared_ptr<Loans> loans_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  const std::shared_ptr<Connection> connection_;
  grpc::ByteBuffer frame_;
  std::string why_;
  grpc::Status status_;
  bool is_done_ = false;
  std::mutex mutex_;
  bool is_let_go_ = false;
};

Link::Link(const Job& job, const std::string& address, const Identity& identity, std::shared_ptr<OwnHeap> heap)
    : job_(job),
      identity_(identity),
      heap_(std::move(heap)),
      address_(address),
      epoch_(identity.epoch),
      loans_(std::make_shared<Loans>(heap_)),
      retries_(Retries::Milliseconds(job.retry_ms)) {
  open_channel(job_, address);  // raises here what it would raise in the thread
  thread_ = std::thread([this] { run(); });
}

Link::~Link() {
  {
    std::unique_lock lock(mutex_);
    is_ending_ = true;
    is_open_ = false;
    changed_.notify_all();
  }
  thread_.join();
  end({grpc::StatusCode::CANCELLED, "the process is ending"});
}

void Link::await() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_over_ || is_open_; });
}

// The connection may be quiet now. Its thread is not woken for every message.
void Link::notify() {
  std::lock_guard guard(mutex_);
  if (is_ending_) changed_.notify_all();
}

// --- streams ---------------------------------------------------------------------------------------------------------

void Link::run() {
  while (true) {
    const grpc::Status status = converse();
    std::unique_lock lock(mutex_);
    if (is_ending_ || is_over_) return;
    if (has_moved_) continue;
    retries_.broke();
    if (const std::optional<grpc::Status> final = hopeless(status)) {
      lock.unlock();
      return end(*final);
    }
    report(job_.verbosity, Verbosity::kNodes, "{}: the connection to the server at {} broke ({}); it is made again",
           text_of(identity_), address_, status.ok() ? "it has closed the stream" : status.error_message());
    changed_.wait_for(lock, retries_.next_pause(), [&] { return is_ending_ || is_over_ || has_moved_; });
  }
}

// What the other process still reads of the own memory is its own affair: nobody listens to it any more.
void Link::move(const std::string& address, uint64_t epoch) {
  std::lock_guard guard(mutex_);
  if (epoch <= epoch_) return;
  epoch_ = epoch;
  address_ = address;
  loans_ = std::make_shared<Loans>(heap_);
  retries_ = Retries(Retries::Milliseconds(job_.retry_ms));
  has_moved_ = true;
  is_open_ = false;
  changed_.notify_all();
}

grpc::Status Link::converse() {
  std::unique_lock lock(mutex_);
  if (is_ending_ || is_over_) return grpc::Status::OK;
  const auto stream = std::make_shared<Stream>(*this, address_, loans_);
  stream_ = stream;
  has_moved_ = false;
  retries_.begins();
  Caller caller = this->caller();
  lock.unlock();
  stream->begin(std::move(caller));
  lock.lock();
  const auto is_done = [&] { return stream->is_done(); };
  const auto must_end = [&] { return is_ending_ || is_over_ || has_moved_ || stream->is_done(); };
  if (changed_.wait_for(lock, retries_.greeting_time(), [&] { return is_open_ || must_end(); }))
    changed_.wait(lock, must_end);
  if (is_ending_ && !is_over_ && stream->connection().is_greeted()) {
    changed_.wait_for(lock, kEndTime, [&] { return is_done() || stream->connection().is_quiet(); });
    lock.unlock();
    stream->finish();
    lock.lock();
    changed_.wait_for(lock, kEndTime, is_done);
  }
  lock.unlock();
  stream->cancel();
  lock.lock();
  changed_.wait(lock, is_done);
  stream_.reset();
  is_open_ = false;
  return stream->status();
}

Caller Link::caller() const {
  Caller caller;
  caller.set_rank(identity_.rank);
  caller.set_incarnation(identity_.incarnation);
  caller.set_is_primary(identity_.is_primary);
  caller.set_epoch(epoch_);
  caller.set_last(last_number_);
  for (const auto& [number, asked] : asked_) caller.add_unanswered(number);
  return caller;
}

// By what it is over when a stream has ended so; none: try again.
std::optional<grpc::Status> Link::hopeless(const grpc::Status& status) const {
  if (Retries::is_refusal(status.error_code())) return status;
  if (retries_.time_left() > Retries::Milliseconds(0)) return {};
  const std::string what = asked_.empty() ? "nothing was asked"
                                          : fmt::format("{} requests wait for an answer, the first is the {}",
                                                        asked_.size(), text_of(asked_.begin()->second.request));
  return grpc::Status(
      grpc::StatusCode::DEADLINE_EXCEEDED,
      fmt::format("it cannot be reached for {} seconds ({}); {}; check that the server runs, that this machine reaches "
                  "its address and that both have certificates of one job, or give it longer by HEADRACE_RETRY_SECONDS",
                  retries_.seconds(), status.ok() ? "it has closed the stream" : status.error_message(), what));
}

// The server is there: what it has not answered is repeated, in order.
void Link::greeted(Stream& stream) {
  {
    std::lock_guard guard(mutex_);
    if (&stream != stream_.get() || is_open_ || is_ending_ || has_moved_) return;
    for (const auto& [number, asked] : asked_) stream.connection().send(asked.request, asked.load);
    is_open_ = true;
    retries_.opened();
    if (asked_.empty()) retries_.answered();
    report(job_.verbosity, Verbosity::kNodes, "{}: connected to the server at {}", text_of(identity_), address_);
    changed_.notify_all();
  }
  stream.connection().flush();
}

// --- requests --------------------------------------------------------------------------------------------------------

BlockPtr Link::block_for(size_t bytes) {
  std::lock_guard guard(mutex_);
  return is_open_ ? stream_->connection().block_for(bytes) : nullptr;
}

void Link::ask(Request request, Load load, Hear hear) {
  std::unique_lock lock(mutex_);
  if (is_over_) {
    const grpc::Status status = status_;
    lock.unlock();
    return hear(status, {}, {});
  }
  request.set_number(++last_number_);
  tell_sent({address_, identity_.incarnation, last_number_, false});
  if (job_.verbosity >= Verbosity::kMessages)
    report(job_.verbosity, Verbosity::kMessages, "{}: sends request {} to {}: {}, {} bytes", text_of(identity_),
           last_number_, address_, text_of(request), load.block ? load.bytes : load.elements.size());
  const std::shared_ptr<Stream> stream = is_open_ ? stream_ : nullptr;
  if (stream) stream->connection().send(request, load);
  asked_.emplace(last_number_, Asked{std::move(request), std::move(load), std::move(hear)});
  lock.unlock();
  if (stream) stream->connection().flush();
}

void Link::hear(const Stream& stream, Reply&& reply, Elements&& elements) {
  std::unique_lock lock(mutex_);
  if (&stream != stream_.get() || has_moved_) return;
  auto found = asked_.extract(reply.number());
  check(reply.number() <= last_number_, ErrorKind::kValue, "distributed: a server has answered what nobody asked");
  stream_->connection().tell_answered(reply.number());
  retries_.answered();
  if (found.empty()) return;  // it came twice
  const timeline::Span span("hear answer");
  tell_received({address_, identity_.incarnation, reply.number(), true});
  report(job_.verbosity, Verbosity::kMessages, "{}: hears the answer to request {} from {}: {} bytes{}{}",
         text_of(identity_), reply.number(), address_, elements.size(), reply.error().empty() ? "" : ", ",
         reply.error());
  lock.unlock();
  const grpc::Status status(static_cast<grpc::StatusCode>(reply.code()), reply.error());
  found.mapped().hear(status, std::move(reply), std::move(elements));
}

void Link::give_up(const std::string& why) { end({grpc::StatusCode::ABORTED, why}); }

// Whoever waits for an answer gets none. The first reason counts.
void Link::end(const grpc::Status& status) {
  std::map<uint64_t, Asked> unanswered;
  {
    std::lock_guard guard(mutex_);
    if (!std::exchange(is_over_, true)) status_ = status;
    unanswered.swap(asked_);
    changed_.notify_all();
  }
  for (auto& [number, asked] : unanswered) asked.hear(status_, {}, {});
}

}  // namespace headrace::distributed
