// An etcd of one process, which tests stop and end. Its data are in a folder that goes with it.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/distributed/cluster.h"

namespace headrace::distributed {

class EtcdTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v etcd > /dev/null") != 0) GTEST_SKIP() << "needs etcd (Debian: apt install etcd-server)";
    char folder[] = "/tmp/headrace_etcd_XXXXXX";
    folder_ = mkdtemp(folder);
    do {  // another process may take a port before etcd has it, which then ends
      std::filesystem::remove_all(folder_ + "/member");
      clients_ = free_port();
      peers_ = free_port();
      start();
    } while (!comes_up());
  }
  ~EtcdTest() override {
    if (folder_.empty()) return;
    kill();
    std::filesystem::remove_all(folder_);
  }

  void start() {
    const std::string at_clients = "http://" + address(), at_peers = "http://" + address_of("127.0.0.1", peers_);
    std::vector<std::string> command{"etcd",
                                     "--data-dir=" + folder_,
                                     "--listen-client-urls=" + at_clients,
                                     "--advertise-client-urls=" + at_clients,
                                     "--listen-peer-urls=" + at_peers,
                                     "--initial-advertise-peer-urls=" + at_peers,
                                     "--initial-cluster=default=" + at_peers,
                                     "--quota-backend-bytes=" + std::to_string(kMostBytes),
                                     "--log-level=fatal",
                                     "--logger=zap"};
    std::vector<char*> arguments;
    for (std::string& one : command) arguments.push_back(one.data());
    arguments.push_back(nullptr);
    process_ = fork();
    if (process_ == 0) {
      execvp("etcd", arguments.data());
      _exit(127);
    }
  }
  // Until it listens. False: it has ended instead.
  bool comes_up() {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<uint16_t>(clients_));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (;;) {
      if (waitpid(process_, nullptr, WNOHANG) == process_) return false;
      const int connection = ::socket(AF_INET, SOCK_STREAM, 0);
      const bool is_up = ::connect(connection, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
      ::close(connection);
      if (is_up) return waitpid(process_, nullptr, WNOHANG) == 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  void kill() {
    ::kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  void stop(bool is_so) {
    ::kill(process_, is_so ? SIGSTOP : SIGCONT);
    if (is_so) waitpid(process_, nullptr, WUNTRACED);  // until all of its threads stand still
  }

  std::string address() const { return address_of("127.0.0.1", clients_); }
  // Of a scheduler.
  Job job(const std::string& name = "job") const {
    return {.role = Role::kScheduler,
            .host = "127.0.0.1",
            .port = free_port(),
            .workers = 1,
            .servers = 1,
            .replicas = 2,
            .own_host = "127.0.0.1",
            .name = name,
            .etcd = {address()}};
  }

  static constexpr int kMostBytes = 4 << 20;

 private:
  std::string folder_;
  int clients_ = 0, peers_ = 0;
  pid_t process_ = 0;
};

}  // namespace headrace::distributed
