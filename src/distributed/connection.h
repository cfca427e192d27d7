// Connection: one end of the stream between a worker and a server. Messages that wait while others are being written
// leave together, as one frame. Large arrays are put into the heap where the other end sees that. Any thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "distributed/frames.h"
#include "distributed/loans.h"

namespace headrace::distributed {

// The elements of an array on their way out: in a block of the own heap, or else pieces of memory.
struct Load {
  BlockPtr block = {};
  size_t bytes = 0;  // in the block
  Elements elements = {};
};

// Of the messages of a stream, and of how frames are laid out.
inline constexpr uint32_t kProtocol = 5;

// Who hears what comes.
struct Hearer {
  // Before anything else of its frame. Has the connection hear it.
  std::function<void(const Greeting&)> greeting = {};
  // With the elements of its array; what lies in the other end's heap stays there as long as somebody holds it.
  std::function<void(Request&&, Elements&&)> request = {};
  std::function<void(Reply&&, Elements&&)> reply = {};
  // Numbers of requests whose answers have come.
  std::function<void(const Frame& frame)> answered = [](const Frame&) {};
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // Less is not worth a place in the heap.
  static constexpr size_t kLeastInHeap = size_t{16} << 10;

  // `write`: begins to write a frame, which stays where it is until written() is called; called by any thread, one
  // frame at a time.
  explicit Connection(std::function<void(const grpc::ByteBuffer*)> write) : write_(std::move(write)) {}

  // What the two ends have of each other's memory. Before anything else; an end that is greeted does so when it hears
  // who speaks. What other connections had begun for it is over then.
  void begin(std::shared_ptr<Loans> loans);

  // A block in which the other end will see an array of so many bytes; null: send the array as pieces.
  BlockPtr block_for(size_t bytes);

  // With what belongs to the array of the message, in the order of the calls, when somebody calls flush(). After
  // close() nothing is sent.
  void send(Request request, Load load = {});
  void send(Reply reply, Load load = {});
  // Begins to write what waits, unless something is being written; that is followed by what waits then. Without a lock
  // for which what comes in may wait: it takes as long as the system needs to take the bytes.
  void flush();
  // The answer to a request has come; told with what is sent next.
  void tell_answered(uint64_t number);
  // A worker begins by it.
  void greet(Caller caller);
  // That the other end greets; answers it. What was sent by other streams before is not being read any more, except for
  // what the greeting says. Raises ValueError for a greeting that is out of order.
  void hear(const Greeting& greeting);

  // What has come. Raises ValueError for what no other end sends.
  void receive(const grpc::ByteBuffer& frame, const Hearer& hearer);
  // Whether the greeting of the other end has come.
  bool is_greeted() const;

  void written(bool ok);
  // The stream is over: nothing is written after this. Waits for who begins to.
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
  template <class Message>
  void add(Message& added, Load& load, Outgoing& frame);
  Load visible(Load load) const;
  bool take_frame();
  void send_greeting(Greeting greeting, bool is_first);

  Elements elements_of(const Array& array, Behind& behind);
  void release(Loans& loans, uint64_t place);

  const std::function<void(const grpc::ByteBuffer*)> write_;
  mutable std::mutex mutex_;
  std::shared_ptr<Loans> loans_;
  uint64_t stream_ = 0;  // its number among those of the loans
  std::vector<uint64_t> held_;
  std::deque<Outgoing> waiting_;
  std::vector<uint64_t> answered_;
  grpc::ByteBuffer being_written_;
  std::condition_variable has_begun_;
  int beginning_ = 0;  // threads that begin to write a frame, the next one when the last is written before that returns
  bool is_writing_ = false, is_closed_ = false, is_greeted_ = false;
  bool has_greeted_ = false;
  bool is_seen_ = false;                  // the other end sees the own heap
  std::shared_ptr<const SeenHeap> seen_;  // of the other end
};

}  // namespace headrace::distributed
