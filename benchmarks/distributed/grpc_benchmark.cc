// What gRPC and a socket do on this machine, without anything of Headrace: the ceilings of stores on servers. Both ends
// are in this process.
#include <arpa/inet.h>
#include <benchmark/benchmark.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "benchmarks/distributed/echo.h"

namespace {

using headrace::benchmarks::EchoStream;

std::vector<char>& memory() {
  static std::vector<char> bytes(size_t{1} << 26, 1);
  return bytes;
}

// A message of so many bytes and its answer.
void grpc_stream(benchmark::State& state) {
  EchoStream stream(grpc::InsecureServerCredentials(), grpc::InsecureChannelCredentials());
  const grpc::Slice slice(memory().data(), static_cast<size_t>(state.range(0)), grpc::Slice::STATIC_SLICE);
  const grpc::ByteBuffer message(&slice, 1);
  for (auto _ : state) stream.ask(message);
  state.SetBytesProcessed(state.iterations() * state.range(0));
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
