// What the environment says of a job.
#include "distributed/job.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cstdlib>
#include <map>
#include <optional>

#include "distributed/channel.h"
#include "headrace/error.hpp"

namespace headrace::distributed {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

// A process that is told these variables, beside those that every process of a job has.
class JobOfEnvironment : public testing::Test {
 protected:
  ~JobOfEnvironment() override {
    for (const auto& [name, before] : before_)
      before ? setenv(name.c_str(), before->c_str(), 1) : unsetenv(name.c_str());
  }

  Job job_of(std::map<std::string, std::string> variables) {
    variables.insert({{"DMLC_ROLE", "server"},
                      {"DMLC_PS_ROOT_URI", "127.0.0.1"},
                      {"DMLC_PS_ROOT_PORT", "4711"},
                      {"DMLC_NUM_WORKER", "2"},
                      {"DMLC_NUM_SERVER", "1"}});
    for (const auto& [name, value] : variables) set(name, value);
    const Job job = job_of_environment();
    for (const auto& [name, value] : variables) unsetenv(name.c_str());
    return job;
  }

 private:
  void set(const std::string& name, const std::string& value) {
    const char* const before = std::getenv(name.c_str());
    before_.try_emplace(name, before ? std::optional<std::string>(before) : std::nullopt);
    setenv(name.c_str(), value.c_str(), 1);
  }

  std::map<std::string, std::optional<std::string>> before_;
};

// Of a network for documentation: no machine has it.
constexpr const char* kElsewhere = "203.0.113.1";

// Of an interface that other machines reach; empty where there is none.
std::string own_address() {
  ifaddrs* first = nullptr;
  EXPECT_EQ(getifaddrs(&first), 0);
  std::string address;
  for (const ifaddrs* one = first; one; one = one->ifa_next)
    if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET && !(one->ifa_flags & IFF_LOOPBACK)) {
      char text[INET_ADDRSTRLEN] = {};
      address = inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof text);
    }
  freeifaddrs(first);
  return address;
}

std::string loopback_interface() {
  ifaddrs* first = nullptr;
  EXPECT_EQ(getifaddrs(&first), 0);
  std::string name;
  for (const ifaddrs* one = first; one; one = one->ifa_next)
    if (one->ifa_flags & IFF_LOOPBACK) name = one->ifa_name;
  freeifaddrs(first);
  return name;
}

TEST_F(JobOfEnvironment, SaysWhereOthersReachTheProcess) {
  EXPECT_EQ(job_of({}).own_host, "127.0.0.1");
  const std::map<std::string, std::string> elsewhere{{"DMLC_PS_ROOT_URI", kElsewhere}, {"HEADRACE_INSECURE", "1"}};
  const auto own_host = [&](std::map<std::string, std::string> variables) {
    variables.insert(elsewhere.begin(), elsewhere.end());
    return job_of(variables).own_host;
  };
  EXPECT_EQ(own_host({}), "");
  EXPECT_EQ(own_host({{"DMLC_INTERFACE", loopback_interface()}}), "127.0.0.1");
  EXPECT_EQ(own_host({{"DMLC_NODE_HOST", "10.0.0.2"}}), "10.0.0.2");
  EXPECT_EQ(own_host({{"DMLC_INTERFACE", "none"}, {"DMLC_NODE_HOST", "10.0.0.2"}}), "10.0.0.2");
}

TEST_F(JobOfEnvironment, OfThisHostAloneNeedsNoEncryption) {
  const Job job = job_of({{"DMLC_LOCAL", "1"}, {"DMLC_PS_ROOT_URI", kElsewhere}, {"DMLC_NODE_HOST", "10.0.0.2"}});
  EXPECT_EQ(job.host, "127.0.0.1");
  EXPECT_EQ(job.own_host, "127.0.0.1");
  EXPECT_THAT(
      [&] {
        job_of({{"DMLC_LOCAL", "0"}, {"DMLC_PS_ROOT_URI", kElsewhere}});
      },
      ThrowsMessage<Error>(HasSubstr("without encryption")));
  EXPECT_THAT(
      [&] {
        job_of({{"DMLC_LOCAL", "yes"}});
      },
      ThrowsMessage<Error>(HasSubstr("DMLC_LOCAL is a number from 0 to 1, got 'yes'")));
}

TEST_F(JobOfEnvironment, WithoutEncryptionAtAnAddressOfThisMachineStaysThere) {
  const std::string address = own_address();
  if (address.empty()) GTEST_SKIP() << "this machine has no network interface but that of itself";
  const auto hosts = [&](std::map<std::string, std::string> variables) {
    variables["DMLC_PS_ROOT_URI"] = address;
    const Job job = job_of(variables);
    return std::pair(job.host, job.own_host);
  };
  for (const char* role : {"scheduler", "server", "worker"})
    EXPECT_EQ(hosts({{"DMLC_ROLE", role}}), std::pair(std::string("127.0.0.1"), std::string("127.0.0.1")));
  EXPECT_EQ(hosts({{"HEADRACE_INSECURE", "1"}}), std::pair(address, std::string()));
  EXPECT_EQ(hosts({{"HEADRACE_CERTIFICATES", "folder"}}), std::pair(address, std::string()));
  for (const char* name : {"DMLC_NODE_HOST", "HEADRACE_JOIN"})
    EXPECT_THAT(
        [&] {
          hosts({{"DMLC_ROLE", "worker"}, {name, name == std::string("HEADRACE_JOIN") ? "any" : address}});
        },
        ThrowsMessage<Error>(HasSubstr("without encryption")));
}

TEST_F(JobOfEnvironment, AnUnknownInterfaceIsToldThoseThatThereAre) {
  EXPECT_THAT(
      [&] {
        job_of({{"DMLC_INTERFACE", "no-such-interface"}});
      },
      ThrowsMessage<Error>(
          AllOf(HasSubstr("got 'no-such-interface'"), HasSubstr(loopback_interface() + " (127.0.0.1)"))));
}

TEST_F(JobOfEnvironment, TheInterfaceOfASchedulerIsThatOfItsAddress) {
  EXPECT_EQ(job_of({{"DMLC_ROLE", "scheduler"}, {"DMLC_INTERFACE", "no-such-interface"}}).own_host, "127.0.0.1");
}

TEST_F(JobOfEnvironment, SaysHowOftenPeersArePinged) {
  const auto pings_of = [&](const std::map<std::string, std::string>& variables) {
    const Pings found = pings(job_of(variables), false);
    return std::pair(found.every_ms, found.answer_ms);
  };
  EXPECT_EQ(pings_of({}), std::pair(5000, 5000));
  EXPECT_EQ(pings_of({{"PS_HEARTBEAT_INTERVAL", "0"}, {"PS_HEARTBEAT_TIMEOUT", "0"}}), std::pair(5000, 5000));
  EXPECT_EQ(pings_of({{"PS_HEARTBEAT_TIMEOUT", "40"}}), std::pair(10'000, 10'000));
  EXPECT_EQ(pings_of({{"PS_HEARTBEAT_INTERVAL", "2"}}), std::pair(2000, 8000));
  EXPECT_EQ(pings_of({{"PS_HEARTBEAT_INTERVAL", "10"}}), std::pair(10'000, 1000));
  EXPECT_THAT(
      [&] {
        job_of({{"PS_HEARTBEAT_INTERVAL", "11"}});
      },
      ThrowsMessage<Error>(AllOf(HasSubstr("PS_HEARTBEAT_INTERVAL is 11 seconds, and after 20 seconds"),
                                 HasSubstr("set PS_HEARTBEAT_TIMEOUT to 22 or more"))));
  EXPECT_THAT(
      [&] {
        job_of({{"PS_HEARTBEAT_INTERVAL", "-1"}});
      },
      ThrowsMessage<Error>(HasSubstr("PS_HEARTBEAT_INTERVAL is a number from 0 to 86400, got '-1'")));
}

TEST_F(JobOfEnvironment, SaysWhatIsReported) {
  EXPECT_EQ(job_of({}).verbosity, Verbosity::kQuiet);
  EXPECT_EQ(job_of({{"PS_VERBOSE", "1"}}).verbosity, Verbosity::kNodes);
  EXPECT_EQ(job_of({{"PS_VERBOSE", "2"}}).verbosity, Verbosity::kMessages);
  EXPECT_EQ(job_of({{"PS_VERBOSE", "10"}}).verbosity, Verbosity::kMessages);
  EXPECT_THAT([&] { job_of({{"PS_VERBOSE", "all"}}); }, ThrowsMessage<Error>(HasSubstr("PS_VERBOSE is a number")));
}

}  // namespace
}  // namespace headrace::distributed
