#include "distributed/connection.h"

#include "base/check.h"

namespace headrace::distributed {
namespace {

// Of frames that hold more than one message.
constexpr size_t kMostBytes = size_t{1} << 20;
constexpr int kMostMessages = 256;
// So many places wait for another reason to write.
constexpr size_t kMostReleased = 32;

}  // namespace

void Connection::begin(std::shared_ptr<Loans> loans) {
  std::lock_guard guard(mutex_);
  loans_ = std::move(loans);
  stream_ = loans_->begin(held_);
}

// --- what goes out ---------------------------------------------------------------------------------------------------

BlockPtr Connection::block_for(size_t bytes) {
  if (bytes < kLeastInHeap) return {};
  std::lock_guard guard(mutex_);
  return is_seen_ && !is_closed_ ? loans_->heap()->take(bytes) : nullptr;
}

Connection::Outgoing& Connection::outgoing(size_t bytes) {
  const auto is_full = [&](const Outgoing& frame) {
    return frame.bytes + bytes > kMostBytes || frame.head.requests_size() + frame.head.replies_size() >= kMostMessages;
  };
  if (waiting_.empty() || is_full(waiting_.back())) waiting_.emplace_back();
  waiting_.back().bytes += bytes;
  return waiting_.back();
}

// A block that was taken for another stream may be out of the sight of this one's other end.
Load Connection::visible(Load load) const {
  if (!load.block || is_seen_) return load;
  const BlockPtr block = std::move(load.block);
  return {.elements = Elements(block->data(), load.bytes, block)};
}

template <class Message>
void Connection::add(Message& added, Load& load, Outgoing& frame) {
  Array* const array = array_in(added);
  if (load.block) {
    array->set_bytes(load.bytes);
    array->set_place(load.block->place());
    return loans_->lend(std::move(load.block));
  }
  const std::vector<grpc::Slice>& pieces = load.elements.pieces();
  if (array) array->set_bytes(load.elements.size());
  frame.elements.insert(frame.elements.end(), pieces.begin(), pieces.end());
}

void Connection::send(Request request, Load load) {
  std::lock_guard guard(mutex_);
  if (is_closed_) return;
  load = visible(std::move(load));
  Outgoing& frame = outgoing(load.elements.size());
  Request& added = *frame.head.add_requests();
  added = std::move(request);
  add(added, load, frame);
}

void Connection::send(Reply reply, Load load) {
  std::lock_guard guard(mutex_);
  if (is_closed_) return;
  load = visible(std::move(load));
  Outgoing& frame = outgoing(load.elements.size());
  Reply& added = *frame.head.add_replies();
  added = std::move(reply);
  add(added, load, frame);
}

void Connection::tell_answered(uint64_t number) {
  std::lock_guard guard(mutex_);
  answered_.push_back(number);
}

// Whether there is a frame to be written, which is in its place then; mutex_ is locked.
bool Connection::take_frame() {
  if (is_writing_ || is_closed_ || waiting_.empty()) return false;
  Outgoing& frame = waiting_.front();
  const std::vector<uint64_t> released = loans_ ? loans_->take_released(stream_) : std::vector<uint64_t>();
  frame.head.mutable_released()->Assign(released.begin(), released.end());
  frame.head.mutable_answered()->Assign(answered_.begin(), answered_.end());
  answered_.clear();
  being_written_ = headrace::distributed::written(frame.head, frame.elements);
  waiting_.pop_front();
  ++beginning_;
  return is_writing_ = true;
}

void Connection::flush() {
  {
    std::lock_guard guard(mutex_);
    if (!take_frame()) return;
  }
  write_(&being_written_);
  std::lock_guard guard(mutex_);
  if (--beginning_ == 0 && is_closed_) has_begun_.notify_all();
}

void Connection::written(bool ok) {
  grpc::ByteBuffer over;  // what it holds ends without the lock
  {
    std::lock_guard guard(mutex_);
    is_writing_ = false;
    over.Swap(&being_written_);
  }
  if (ok) flush();
}

void Connection::close() {
  std::deque<Outgoing> dropped;  // what it holds ends without the lock
  std::unique_lock lock(mutex_);
  is_closed_ = true;
  has_begun_.wait(lock, [&] { return beginning_ == 0; });
  dropped.swap(waiting_);
}

bool Connection::is_quiet() const {
  std::lock_guard guard(mutex_);
  return !is_writing_ && waiting_.empty();
}

// --- greetings -------------------------------------------------------------------------------------------------------

void Connection::greet(Caller caller) {
  {
    std::lock_guard guard(mutex_);
    Greeting greeting;
    *greeting.mutable_caller() = std::move(caller);
    send_greeting(std::move(greeting), true);
  }
  flush();
}

void Connection::send_greeting(Greeting greeting, bool is_first) {
  has_greeted_ = true;
  greeting.set_protocol(kProtocol);
  greeting.set_sees(seen_ != nullptr);
  if (is_first) {
    if (loans_->heap()) *greeting.mutable_heap() = loans_->heap()->description();
    greeting.mutable_held()->mutable_places()->Assign(held_.begin(), held_.end());
  }
  *outgoing(0).head.mutable_greeting() = std::move(greeting);
}

bool Connection::is_greeted() const {
  std::lock_guard guard(mutex_);
  return is_greeted_;
}

void Connection::hear(const Greeting& greeting) {
  {
    std::lock_guard guard(mutex_);
    check(loans_ != nullptr, ErrorKind::kValue, "distributed: a stream began without a word of who speaks");
    if (greeting.has_held()) {
      check(!is_greeted_, ErrorKind::kValue, "distributed: a stream began twice");
      loans_->take_back_all_but({greeting.held().places().begin(), greeting.held().places().end()});
    }
    is_greeted_ = true;
    is_seen_ = greeting.sees() && loans_->heap();
    const bool is_new = greeting.has_heap() && loans_->heap() && !seen_;
    if (is_new) seen_ = SeenHeap::find(greeting.heap());
    const bool is_first = !has_greeted_;
    if (is_first || (is_new && seen_)) send_greeting({}, is_first);
  }
  flush();
}

// --- what comes in ---------------------------------------------------------------------------------------------------

void Connection::receive(const grpc::ByteBuffer& frame, const Hearer& hearer) {
  Frame head;
  Behind behind = read(frame, head);
  if (head.has_greeting()) {
    check(head.greeting().protocol() == kProtocol, ErrorKind::kValue,
          "distributed: the other end speaks version {} of the protocol, this one version {}; use one version of "
          "Headrace",
          head.greeting().protocol(), kProtocol);
    hearer.greeting(head.greeting());
  }
  {
    std::lock_guard guard(mutex_);
    check(is_greeted_, ErrorKind::kValue, "distributed: a stream began without a greeting");
    loans_->take_back(stream_, {head.released().begin(), head.released().end()});
  }
  std::vector<Elements> of_requests, of_replies;
  const auto collect = [&](Array* array, std::vector<Elements>& all) {
    all.push_back(array ? elements_of(*array, behind) : Elements());
  };
  for (Request& one : *head.mutable_requests()) collect(array_in(one), of_requests);
  for (Reply& one : *head.mutable_replies()) collect(array_in(one), of_replies);
  check(behind.is_empty(), ErrorKind::kValue, "distributed: a frame came with more than the elements of its arrays");
  if (head.answered_size() > 0) hearer.answered(head);
  for (size_t i = 0; i < of_requests.size(); ++i)
    hearer.request(std::move(*head.mutable_requests(static_cast<int>(i))), std::move(of_requests[i]));
  for (size_t i = 0; i < of_replies.size(); ++i)
    hearer.reply(std::move(*head.mutable_replies(static_cast<int>(i))), std::move(of_replies[i]));
}

Elements Connection::elements_of(const Array& array, Behind& behind) {
  if (!array.has_place()) return behind.take(array.bytes());
  std::shared_ptr<const SeenHeap> heap;
  std::shared_ptr<Loans> loans;
  {
    std::lock_guard guard(mutex_);
    heap = seen_;
    loans = loans_;
  }
  const char* const data = heap ? heap->at(array.place(), array.bytes()) : nullptr;
  check(data != nullptr, ErrorKind::kValue, "distributed: an array of {} bytes is said to lie where no memory is seen",
        array.bytes());
  check(loans->hold(stream_, array.place()), ErrorKind::kRuntime, "distributed: another stream has begun");
  struct Release {
    void operator()(const SeenHeap*) const {
      if (const std::shared_ptr<Connection> told = connection.lock())
        told->release(*loans, place);
      else
        loans->release(place);
    }
    std::weak_ptr<Connection> connection;
    std::shared_ptr<Loans> loans;
    uint64_t place;
    std::shared_ptr<const SeenHeap> heap;
  };
  std::unique_ptr<const SeenHeap, Release> held(heap.get(), {weak_from_this(), loans, array.place(), heap});
  return Elements(data, array.bytes(), std::move(held));
}

void Connection::release(Loans& loans, uint64_t place) {
  if (loans.release(place) < kMostReleased) return;
  {
    std::lock_guard guard(mutex_);
    if (is_closed_) return;
    if (waiting_.empty()) waiting_.emplace_back();
  }
  flush();
}

}  // namespace headrace::distributed
