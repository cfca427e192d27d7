// A stream of gRPC without anything of Headrace: a service that answers each message, and who asks it. Both ends are in
// this process.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

namespace headrace::benchmarks {

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

class EchoService final : public grpc::CallbackGenericService {
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

// A server, and a stream to it.
class EchoStream {
 public:
  EchoStream(const std::shared_ptr<grpc::ServerCredentials>& of_server,
             const std::shared_ptr<grpc::ChannelCredentials>& of_channel,
             const grpc::ChannelArguments& arguments = {}) {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", of_server, &port);
    builder.RegisterCallbackGenericService(&service_);
    builder.SetMaxReceiveMessageSize(-1);
    server_ = builder.BuildAndStart();
    stub_ = std::make_unique<grpc::GenericStub>(
        grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port), of_channel, arguments));
    asker_ = std::make_unique<Asker>(*stub_);
  }
  ~EchoStream() {
    asker_.reset();
    server_->Shutdown(std::chrono::system_clock::now());
  }

  void ask(const grpc::ByteBuffer& message) { asker_->ask(message); }

 private:
  EchoService service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<grpc::GenericStub> stub_;
  std::unique_ptr<Asker> asker_;
};

}  // namespace headrace::benchmarks
