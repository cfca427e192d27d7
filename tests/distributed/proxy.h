// Proxy: passes bytes between the nodes of a job and a server or the scheduler, and cuts connections in the middle of
// what they say.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace headrace::distributed {

class Proxy {
 public:
  // Cuts `cuts` connections by itself, each after it has passed some bytes, at most `most`, of requests or of answers;
  // what comes later passes. The numbers depend on the seed alone.
  explicit Proxy(const std::string& server, uint32_t seed = 0, int cuts = 0, int most = 0)
      : random_(seed), left_(cuts), most_(most) {
    const size_t colon = server.rfind(':');
    server_ = address_of(std::stoi(server.substr(colon + 1)));
    listening_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in own = address_of(0);
    socklen_t size = sizeof own;
    auto* const address = reinterpret_cast<sockaddr*>(&own);
    if (bind(listening_, address, size) != 0 || listen(listening_, 64) != 0 ||
        getsockname(listening_, address, &size) != 0)
      throw std::runtime_error("a proxy cannot listen");
    address_ = "127.0.0.1:" + std::to_string(ntohs(own.sin_port));
    accepting_ = std::thread([this] { accept_all(); });
  }
  ~Proxy() {
    is_ending_ = true;
    accepting_.join();
    for (std::thread& one : passing_) one.join();
    close(listening_);
  }
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  const std::string& address() const noexcept { return address_; }
  // Cuts all connections now; others pass.
  void cut() { ++cutting_; }
  // Cuts all connections, which are closed then, and takes no others until it is told otherwise.
  void refuse(bool is_so) {
    is_refusing_ = is_so;
    if (!is_so) return;
    cut();
    while (open_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // Connections that were cut for the bytes that they had passed.
  int cuts() const noexcept { return cuts_; }

 private:
  static sockaddr_in address_of(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    return address;
  }

  void accept_all() {
    while (!is_ending_) {
      pollfd waiting{listening_, POLLIN, 0};
      if (poll(&waiting, 1, 20) <= 0) continue;
      const int worker = accept(listening_, nullptr, nullptr);
      const int server = socket(AF_INET, SOCK_STREAM, 0);
      const int cutting = cutting_;
      ++open_;
      if (is_refusing_ || connect(server, reinterpret_cast<const sockaddr*>(&server_), sizeof server_) != 0) {
        close(worker);
        close(server);
        --open_;
        continue;
      }
      int budgets[2] = {-1, -1};  // bytes of requests and of answers that pass; below 0: all
      if (left_ > 0) {
        --left_;
        budgets[random_() % 2] = std::uniform_int_distribution<int>(0, most_)(random_);
      }
      passing_.emplace_back([this, worker, server, cutting, of_requests = budgets[0], of_answers = budgets[1]] {
        pass(worker, server, cutting, of_requests, of_answers);
        --open_;
      });
    }
  }

  void pass(int worker, int server, int cutting, int of_requests, int of_answers) {
    const int ends[2] = {worker, server};
    int budgets[2] = {of_requests, of_answers};
    for (const int end : ends) {
      const int on = 1;
      setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    bool is_open = true;
    while (is_open && !is_ending_ && cutting == cutting_) {
      pollfd waiting[2] = {{worker, POLLIN, 0}, {server, POLLIN, 0}};
      if (poll(waiting, 2, 20) <= 0) continue;
      for (int from = 0; from < 2 && is_open; ++from)
        if (waiting[from].revents != 0) is_open = move(ends[from], ends[1 - from], budgets[from]);
    }
    for (const int end : ends) {
      const linger at_once{1, 0};
      setsockopt(end, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
      close(end);
    }
  }

  // False: it is over.
  bool move(int from, int to, int& budget) {
    char bytes[16384];
    const ssize_t came = recv(from, bytes, sizeof bytes, 0);
    if (came <= 0) return false;
    const ssize_t passes = budget < 0 ? came : std::min<ssize_t>(came, budget);
    for (ssize_t sent = 0; sent < passes;) {
      const ssize_t count = send(to, bytes + sent, static_cast<size_t>(passes - sent), MSG_NOSIGNAL);
      if (count <= 0) return false;
      sent += count;
    }
    if (budget < 0) return true;
    budget -= static_cast<int>(passes);
    if (passes == came) return true;
    ++cuts_;
    return false;
  }

  std::minstd_rand random_;
  int left_;
  const int most_;
  sockaddr_in server_{};
  int listening_ = -1;
  std::string address_;
  std::atomic<int> cuts_{0};
  std::atomic<int> cutting_{0};  // how often all were cut
  std::atomic<int> open_{0};
  std::atomic<bool> is_ending_{false}, is_refusing_{false};
  std::thread accepting_;
  std::vector<std::thread> passing_;  // of the thread that accepts, until it ends
};

}  // namespace headrace::distributed
