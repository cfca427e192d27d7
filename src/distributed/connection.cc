#include "distributed/connection.h"

#include "base/check.h"

namespace headrace::distributed {
namespace {

// Of frames that hold more than one message.
constexpr size_t kMostBytes = size_t{8} << 20;
constexpr int kMostMessages = 256;
// So many places wait for another reason to write.
constexpr size_t kMostReleased = 32;

}  // namespace

// --- what goes out ---------------------------------------------------------------------------------------------------

BlockPtr Connection::block_for(size_t bytes) {
  if (bytes < kLeastInHeap) return {};
  std::lock_guard guard(mutex_);
  return is_seen_ && !is_closed_ ? heap_->take(bytes) : nullptr;
}

Connection::Outgoing& Connection::outgoing(size_t bytes) {
  const auto is_full = [&](const Outgoing& frame) {
    return frame.bytes + bytes > kMostBytes || frame.head.requests_size() + frame.head.replies_size() >= kMostMessages;
  };
  if (waiting_.empty() || is_full(waiting_.back())) waiting_.emplace_back();
  waiting_.back().bytes += bytes;
  return waiting_.back();
}

void Connection::load_into(Array* array, Load& load, Outgoing& frame) {
  if (load.block) {
    array->set_bytes(load.bytes);
    array->set_place(load.block->place());
    lent_.emplace(load.block->place(), std::move(load.block));
    return;
  }
  const std::vector<grpc::Slice>& pieces = load.elements.pieces();
  if (array) array->set_bytes(load.elements.size());
  frame.elements.insert(frame.elements.end(), pieces.begin(), pieces.end());
}

void Connection::send(Request request, Load load) {
  std::lock_guard guard(mutex_);
  if (is_closed_) return;
  Outgoing& frame = outgoing(load.elements.size());
  Request& added = *frame.head.add_requests();
  added = std::move(request);
  load_into(array_in(added), load, frame);
  flush();
}

void Connection::send(Reply reply, Load load) {
  std::lock_guard guard(mutex_);
  if (is_closed_) return;
  Outgoing& frame = outgoing(load.elements.size());
  Reply& added = *frame.head.add_replies();
  added = std::move(reply);
  load_into(array_in(added), load, frame);
  flush();
}

void Connection::flush() {
  if (is_writing_ || is_closed_) return;
  if (waiting_.empty() && released_.size() < kMostReleased) return;
  if (waiting_.empty()) waiting_.emplace_back();
  Outgoing& frame = waiting_.front();
  frame.head.mutable_released()->Assign(released_.begin(), released_.end());
  released_.clear();
  being_written_ = headrace::distributed::written(frame.head, frame.elements);
  waiting_.pop_front();
  is_writing_ = true;
  write_(&being_written_);
}

void Connection::written(bool ok) {
  grpc::ByteBuffer over;  // what it holds ends without the lock
  std::lock_guard guard(mutex_);
  is_writing_ = false;
  over.Swap(&being_written_);
  if (ok) flush();
}

void Connection::close() {
  std::deque<Outgoing> dropped;  // what it holds ends without the lock
  std::lock_guard guard(mutex_);
  is_closed_ = true;
  dropped.swap(waiting_);
}

bool Connection::is_quiet() const {
  std::lock_guard guard(mutex_);
  return !is_writing_ && waiting_.empty();
}

// --- greetings -------------------------------------------------------------------------------------------------------

void Connection::greet() {
  std::lock_guard guard(mutex_);
  has_greeted_ = true;
  send_greeting(true);
}

void Connection::send_greeting(bool with_heap) {
  Greeting& greeting = *outgoing(0).head.mutable_greeting();
  if (with_heap && heap_) *greeting.mutable_heap() = heap_->description();
  greeting.set_sees(seen_ != nullptr);
  flush();
}

bool Connection::is_greeted() const {
  std::lock_guard guard(mutex_);
  return is_greeted_;
}

void Connection::hear(const Greeting& greeting) {
  is_greeted_ = true;
  is_seen_ = greeting.sees() && heap_;
  const bool is_new = greeting.has_heap() && heap_ && !seen_;
  if (is_new) seen_ = SeenHeap::find(greeting.heap());
  const bool is_first = !std::exchange(has_greeted_, true);
  if (is_first || (is_new && seen_)) send_greeting(is_first);
}

// --- what comes in ---------------------------------------------------------------------------------------------------

void Connection::receive(const grpc::ByteBuffer& frame, const HearRequest& request, const HearReply& reply) {
  Frame head;
  Behind behind = read(frame, head);
  std::vector<BlockPtr> returned;  // end without the lock
  {
    std::lock_guard guard(mutex_);
    if (head.has_greeting()) hear(head.greeting());
    for (const uint64_t place : head.released()) {
      const auto found = lent_.find(place);
      check(found != lent_.end(), ErrorKind::kValue, "distributed: a place in memory was released that was not lent");
      returned.push_back(std::move(found->second));
      lent_.erase(found);
    }
  }
  std::vector<Elements> of_requests, of_replies;
  const auto collect = [&](Array* array, std::vector<Elements>& all) {
    all.push_back(array ? elements_of(*array, behind) : Elements());
  };
  for (Request& one : *head.mutable_requests()) collect(array_in(one), of_requests);
  for (Reply& one : *head.mutable_replies()) collect(array_in(one), of_replies);
  check(behind.is_empty(), ErrorKind::kValue, "distributed: a frame came with more than the elements of its arrays");
  for (size_t i = 0; i < of_requests.size(); ++i)
    request(std::move(*head.mutable_requests(static_cast<int>(i))), std::move(of_requests[i]));
  for (size_t i = 0; i < of_replies.size(); ++i)
    reply(std::move(*head.mutable_replies(static_cast<int>(i))), std::move(of_replies[i]));
}

Elements Connection::elements_of(const Array& array, Behind& behind) {
  if (!array.has_place()) return behind.take(array.bytes());
  std::shared_ptr<const SeenHeap> heap;
  {
    std::lock_guard guard(mutex_);
    heap = seen_;
  }
  const char* const data = heap ? heap->at(array.place(), array.bytes()) : nullptr;
  check(data != nullptr, ErrorKind::kValue, "distributed: an array of {} bytes is said to lie where no memory is seen",
        array.bytes());
  struct Release {
    void operator()(const SeenHeap*) const {
      if (const std::shared_ptr<Connection> told = connection.lock()) told->release(place);
    }
    std::weak_ptr<Connection> connection;
    uint64_t place;
    std::shared_ptr<const SeenHeap> heap;
  };
  std::unique_ptr<const SeenHeap, Release> held(heap.get(), {weak_from_this(), array.place(), heap});
  return Elements(data, array.bytes(), std::move(held));
}

void Connection::release(uint64_t place) {
  std::lock_guard guard(mutex_);
  if (is_closed_) return;
  released_.push_back(place);
  flush();
}

}  // namespace headrace::distributed
