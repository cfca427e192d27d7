// What gRPC and a socket do on this machine, without anything of Headrace: the ceilings of stores on servers. Both ends
// are in this process.
#include <arpa/inet.h>
#include <benchmark/benchmark.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace {

std::vector<char>& memory() {
  static std::vector<char> bytes(size_t{1} << 26, 1);
  return bytes;
}

// Answers every message of a stream by one of a byte.
class Echo final : public grpc::ServerGenericBidiReactor {
 public:
  Echo() { StartRead(&came_); }
  void OnReadDone(bool ok) override { ok ? StartWrite(&sent_) : Finish(grpc::Status::OK); }
  void OnWriteDone(bool) override { StartRead(&came_); }
  void OnDone() override { delete this; }

 private:
  const grpc::Slice answer_{"!"};
  grpc::ByteBuffer came_, sent_{&answer_, 1};
};

class Service final : public grpc::CallbackGenericService {
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override { return new Echo; }
};

// Sends messages on a stream, and waits for the answer to each.
class Asker final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit Asker(grpc::GenericStub& stub) {
    stub.PrepareBidiStreamingCall(&context_, "/echo", {}, this);
    AddHold();
    StartCall();
  }
  ~Asker() {
    context_.TryCancel();
    RemoveHold();
    await(ended_);
  }
  void ask(const grpc::ByteBuffer& message) {
    StartRead(&came_);
    StartWrite(&message);
    await(answered_);
    await(sent_);
  }

 private:
  void OnReadDone(bool) override { tell(answered_); }
  void OnWriteDone(bool) override { tell(sent_); }
  void OnDone(const grpc::Status&) override { tell(ended_); }
  void tell(bool& what) {
    std::lock_guard guard(mutex_);
    what = true;
    changed_.notify_all();
  }
  void await(bool& what) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return what; });
    what = false;
  }

  grpc::ClientContext context_;
  grpc::ByteBuffer came_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool answered_ = false, sent_ = false, ended_ = false;
};

// A message of so many bytes and its answer.
void grpc_stream(benchmark::State& state) {
  Service service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterCallbackGenericService(&service);
  builder.SetMaxReceiveMessageSize(-1);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  grpc::GenericStub stub(grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  {
    Asker asker(stub);
    const grpc::Slice slice(memory().data(), static_cast<size_t>(state.range(0)), grpc::Slice::STATIC_SLICE);
    const grpc::ByteBuffer message(&slice, 1);
    for (auto _ : state) asker.ask(message);
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
  server->Shutdown(std::chrono::system_clock::now());
}
BENCHMARK(grpc_stream)->Arg(16)->Arg(1'000'000)->Arg(16'000'000)->UseRealTime();

void loopback_socket(benchmark::State& state) {
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (bind(listening, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(listening, 1) != 0 ||
      getsockname(listening, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    return state.SkipWithError("there is no loopback");
  const int out = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(out, reinterpret_cast<sockaddr*>(&address), length) != 0)
    return state.SkipWithError("there is no loopback");
  const int in = accept(listening, nullptr, nullptr);
  std::thread reader([in] {
    std::vector<char> place(1'000'000);
    while (read(in, place.data(), place.size()) > 0) {
    }
  });
  const auto bytes = static_cast<size_t>(state.range(0));
  for (auto _ : state)
    for (size_t done = 0; done < bytes;) done += static_cast<size_t>(write(out, memory().data(), bytes - done));
  state.SetBytesProcessed(state.iterations() * state.range(0));
  close(out);
  reader.join();
  close(in);
  close(listening);
}
BENCHMARK(loopback_socket)->Arg(1'000'000)->UseRealTime();

}  // namespace
