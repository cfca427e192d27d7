// What threads do at once with both ends of a stream that breaks. None of them is gRPC's, of whose order
// ThreadSanitizer sees nothing.
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "distributed/clients.h"
#include "headrace/error.hpp"

namespace headrace::distributed {
namespace {

constexpr int kAskers = 3;
constexpr int kTurns = 200;  // of each
constexpr size_t kBetweenBreaks = 70;
constexpr size_t kBytes = 40'000;

// Carries the frames of one end to the other, in a thread of its own, as copies, which it keeps: who lets go of a slice
// last frees it otherwise, and how gRPC counts who is left ThreadSanitizer does not see.
class Way {
 public:
  void write(const grpc::ByteBuffer* frame) {
    std::lock_guard guard(mutex_);
    frame_ = frame;
    changed_.notify_all();
  }
  void begin(std::shared_ptr<Connection> from, std::function<void(const grpc::ByteBuffer&)> receive) {
    thread_ = std::thread([this, from = std::move(from), receive = std::move(receive)] {
      while (const std::optional<grpc::ByteBuffer> frame = next()) {
        try {
          receive(*frame);
        } catch (const Error&) {  // another stream has begun
          return;
        }
        from->written(true);
      }
    });
  }
  // What is on its way is lost.
  void end() {
    {
      std::lock_guard guard(mutex_);
      is_over_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }

 private:
  std::optional<grpc::ByteBuffer> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return frame_ || is_over_; });
    if (is_over_) return {};
    grpc::Slice whole;
    EXPECT_TRUE(frame_->DumpToSingleSlice(&whole).ok());
    frame_ = nullptr;
    const std::string& copy = copies_.emplace_back(whole.begin(), whole.end());
    const grpc::Slice slice(copy.data(), copy.size(), grpc::Slice::STATIC_SLICE);
    return grpc::ByteBuffer(&slice, 1);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const grpc::ByteBuffer* frame_ = nullptr;
  bool is_over_ = false;
  std::deque<std::string> copies_;  // of the thread alone
  std::thread thread_;
};

std::string text_for(uint64_t number) { return std::string(kBytes, static_cast<char>('a' + number % 26)); }

Load load_of(BlockPtr block, const std::string& text) {
  if (!block) return {.elements = Elements({grpc::Slice(text)})};
  std::memcpy(block->data(), text.data(), text.size());
  return {.block = std::move(block), .bytes = text.size()};
}

std::string text_in(const Elements& elements) {
  std::string text(elements.size(), '\0');
  elements.copy_to(text.data());
  return text;
}

// Serves one worker: a thread does what others put.
class ServingThread {
 public:
  ServingThread() : thread_([this] { run(); }) {}
  // How often each push was served, by number.
  std::map<uint64_t, int> end() {
    put(nullptr);
    thread_.join();
    return pushed_;
  }

  Hearer hearer(const std::shared_ptr<Connection>& from) {
    return {.greeting =
                [this, from](const Greeting& greeting) {
                  if (!greeting.has_caller()) return from->hear(greeting);
                  client_.enter(greeting, from);
                },
            .request =
                [this, from](Request&& request, Elements&& elements) {
                  put([this, from, request = std::move(request), elements = std::move(elements)] {
                    if (client_.admit(request, *from)) serve(request, elements);
                  });
                },
            .answered = [this, from](const Frame& head) { client_.forget(head, *from); }};
  }

 private:
  void serve(const Request& request, const Elements& elements) {
    Reply reply;
    reply.set_number(request.number());
    if (request.has_push()) {
      ++pushed_[request.number()];
      EXPECT_EQ(text_in(elements), text_for(request.number()));
      return client_.answer(1, std::move(reply), {});
    }
    reply.mutable_value();
    client_.answer(1, std::move(reply), load_of(client_.block_for(kBytes), text_for(request.number())));
  }

  void put(std::function<void()> job) {
    std::lock_guard guard(mutex_);
    jobs_.push_back(std::move(job));
    changed_.notify_all();
  }
  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !jobs_.empty(); });
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      if (!job) return;
      job();
    }
  }

  Client client_{0, OwnHeap::make()};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::map<uint64_t, int> pushed_;
  std::thread thread_;
};

struct BothWays {
  Way there, back;
  std::shared_ptr<Connection> worker =
      std::make_shared<Connection>([this](const grpc::ByteBuffer* frame) { there.write(frame); });
  std::shared_ptr<Connection> server =
      std::make_shared<Connection>([this](const grpc::ByteBuffer* frame) { back.write(frame); });
};

// A worker with several threads that ask, and repeat what has no answer when a stream has taken the place of another.
class AskingWorker {
 public:
  explicit AskingWorker(ServingThread& server) : server_(server) { begin(); }
  ~AskingWorker() { end(); }

  void ask(bool pushes) {
    const BlockPtr block = pushes ? block_for_push() : nullptr;
    std::unique_lock lock(mutex_);
    const uint64_t number = ++last_;
    Asked& asked = asked_[number];
    asked.request.set_number(number);
    if (pushes) {
      asked.request.mutable_push();
      asked.load = load_of(block, text_for(number));
    } else {
      asked.request.mutable_pull();
    }
    if (is_open_) {
      ways_->worker->send(asked.request, asked.load);
      ways_->worker->flush();
    }
    changed_.wait(lock, [&] { return answers_.contains(number); });
    const Elements answer = std::move(answers_.extract(number).mapped());
    lock.unlock();
    EXPECT_EQ(text_in(answer), pushes ? "" : text_for(number));
  }

  // Another stream takes the place of this one whenever so many answers have come.
  void break_until(uint64_t all) {
    for (uint64_t come = kBetweenBreaks; come < all; come += kBetweenBreaks) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return come_ >= come; });
        is_open_ = false;
      }
      end();
      begin();
    }
  }

 private:
  struct Asked {
    Request request;
    Load load;
  };

  BlockPtr block_for_push() {
    std::lock_guard guard(mutex_);
    return is_open_ ? ways_->worker->block_for(kBytes) : nullptr;
  }

  void begin() {
    Caller caller;
    caller.set_incarnation(1);
    auto ways = std::make_shared<BothWays>();
    {
      std::lock_guard guard(mutex_);
      for (const auto& [number, asked] : asked_) caller.add_unanswered(number);
      ways_ = ways;
      all_ways_.push_back(ways);
    }
    Connection* const worker = ways->worker.get();
    ways->there.begin(ways->worker, [end = ways->server, hearer = server_.hearer(ways->server)](const auto& frame) {
      end->receive(frame, hearer);
    });
    ways->back.begin(ways->server, [this, worker](const auto& frame) {
      worker->receive(frame, {.greeting = [&](const Greeting& greeting) { greeted(*worker, greeting); },
                              .reply = [&](Reply&& reply, Elements&& elements) { hear(reply, std::move(elements)); }});
    });
    worker->begin(loans_);
    worker->greet(std::move(caller));
  }

  void end() {
    ways_->worker->close();
    ways_->server->close();
    ways_->there.end();
    ways_->back.end();
  }

  void greeted(Connection& connection, const Greeting& greeting) {
    connection.hear(greeting);
    std::lock_guard guard(mutex_);
    if (std::exchange(is_open_, true)) return;
    for (const auto& [number, asked] : asked_) connection.send(asked.request, asked.load);
    connection.flush();
  }

  void hear(const Reply& reply, Elements&& elements) {
    std::lock_guard guard(mutex_);
    ways_->worker->tell_answered(reply.number());
    if (asked_.erase(reply.number()) == 0) return;  // it came twice
    answers_.emplace(reply.number(), std::move(elements));
    ++come_;
    changed_.notify_all();
  }

  ServingThread& server_;
  const std::shared_ptr<Loans> loans_ = std::make_shared<Loans>(OwnHeap::make());
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<BothWays>> all_ways_;  // with what the server may still read
  std::shared_ptr<BothWays> ways_;                   // these: guarded by mutex_
  bool is_open_ = false;
  uint64_t last_ = 0, come_ = 0;
  std::map<uint64_t, Asked> asked_;       // by number: without an answer
  std::map<uint64_t, Elements> answers_;  // that nobody has read
};

TEST(ThreadsOfStreams, NothingIsLostOrDoneTwice) {
  ServingThread server;
  AskingWorker worker(server);
  std::vector<std::thread> askers;
  for (int i = 0; i < kAskers; ++i)
    askers.emplace_back([&worker] {
      for (int turn = 0; turn < kTurns; ++turn) worker.ask(turn % 2 == 0);
    });
  worker.break_until(kAskers * kTurns);
  for (std::thread& asker : askers) asker.join();
  const std::map<uint64_t, int> pushed = server.end();
  EXPECT_EQ(pushed.size(), kAskers * kTurns / 2);
  for (const auto& [number, times] : pushed) EXPECT_EQ(times, 1) << number;
}

}  // namespace
}  // namespace headrace::distributed
