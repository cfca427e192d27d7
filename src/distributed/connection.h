// Connection: one end of the stream between a worker and a server. Messages that wait while others are being written
// leave together, as one frame. Large arrays are put into the heap where the other end sees that. Any thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "distributed/frames.h"
#include "distributed/heap.h"

namespace headrace::distributed {

// The elements of an array on their way out: in a block of the own heap, or else pieces of memory.
struct Load {
  BlockPtr block = {};
  size_t bytes = 0;  // in the block
  Elements elements = {};
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // Less is not worth a place in the heap.
  static constexpr size_t kLeastInHeap = size_t{16} << 10;

  // `heap`: the own one, or null. `write`: begins to write a frame, which stays where it is until written() is called;
  // called by any thread, one frame at a time.
  Connection(std::shared_ptr<OwnHeap> heap, std::function<void(const grpc::ByteBuffer*)> write)
      : heap_(std::move(heap)), write_(std::move(write)) {}

  // A block in which the other end will see an array of so many bytes; null: send the array as pieces.
  BlockPtr block_for(size_t bytes);

  // With what belongs to the array of the message. After close() nothing is sent.
  void send(Request request, Load load = {});
  void send(Reply reply, Load load = {});
  // A worker begins by it.
  void greet();

  // What has come. `request` or `reply` is called for each message, with the elements of its array; what lies in the
  // other end's heap stays there as long as somebody holds it. Raises ValueError for what no other end sends.
  using HearRequest = std::function<void(Request&&, Elements&&)>;
  using HearReply = std::function<void(Reply&&, Elements&&)>;
  void receive(const grpc::ByteBuffer& frame, const HearRequest& request, const HearReply& reply);
  // Whether the greeting of the other end has come.
  bool is_greeted() const;

  void written(bool ok);
  // The stream is over: nothing is written after this.
  void close();
  // Whether nothing waits or is being written.
  bool is_quiet() const;

 private:
  struct Outgoing {
    Frame head;
    std::vector<grpc::Slice> elements;
    size_t bytes = 0;
  };

  // --- these: guarded by mutex_ ---
  Outgoing& outgoing(size_t bytes);
  void load_into(Array* array, Load& load, Outgoing& frame);
  void flush();
  void hear(const Greeting& greeting);
  void send_greeting(bool with_heap);

  Elements elements_of(const Array& array, Behind& behind);
  void release(uint64_t place);

  const std::shared_ptr<OwnHeap> heap_;
  const std::function<void(const grpc::ByteBuffer*)> write_;
  mutable std::mutex mutex_;
  std::deque<Outgoing> waiting_;
  grpc::ByteBuffer being_written_;
  bool is_writing_ = false, is_closed_ = false, is_greeted_ = false;
  bool has_greeted_ = false;
  bool is_seen_ = false;                    // the other end sees the own heap
  std::shared_ptr<const SeenHeap> seen_;    // of the other end
  std::multimap<uint64_t, BlockPtr> lent_;  // that the other end may be reading
  std::vector<uint64_t> released_;          // of the other end's places, to be told
};

}  // namespace headrace::distributed
