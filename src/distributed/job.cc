#include "distributed/job.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string_view>

#include "base/check.h"
#include "base/whole_number.h"
#include "distributed/interfaces.h"

namespace headrace::distributed {
namespace {

constexpr const char* kThisMachine = "127.0.0.1";

constexpr int kMostNodes = 100'000;
constexpr const char* kHowToStart =
    "start the program with `python -m headrace.launch -n 2 python PROGRAM.py`, or as MXNet's launcher does";

std::string variable_of(const char* name, std::string otherwise = {}) {
  const char* const value = std::getenv(name);
  return value ? value : std::move(otherwise);
}

int number_of(const char* name, std::optional<int> otherwise, int least, int most) {
  const std::string text = variable_of(name);
  if (text.empty() && otherwise) return *otherwise;
  check(!text.empty(), ErrorKind::kValue, "distributed: the environment variable {} is missing; {}", name, kHowToStart);
  const std::optional<int> number = whole_number<int>(text);
  check(number && *number >= least && *number <= most, ErrorKind::kValue,
        "distributed: {} is a number from {} to {}, got '{}'", name, least, most, text);
  return *number;
}

// "LEAST", "LEAST:" or "LEAST:MOST", of a job that begins with so many workers.
Elastic elastic_of(const std::string& text, int workers) {
  const size_t sign = std::min(text.find(':'), text.size());
  const std::optional<int> least = whole_number<int>(std::string_view(text).substr(0, sign));
  const std::optional<int> most =
      sign + 1 < text.size() ? whole_number<int>(std::string_view(text).substr(sign + 1)) : kMostNodes;
  check(
      least && most && *least >= 1 && *least <= workers && *most >= workers && *most <= kMostNodes, ErrorKind::kValue,
      "distributed: HEADRACE_ELASTIC says how many workers a job has at least and at most, MIN:MAX or MIN, among them "
      "the {} of DMLC_NUM_WORKER, got '{}'",
      workers, text);
  return {*least, *most};
}

struct Address {
  std::string host;
  int port = 0;
};

// "HOST:PORT", or "[HOST]:PORT". Port 0: it is none.
Address address_from(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos || colon == 0) return {};
  Address address{.host = text.substr(0, colon)};
  if (address.host.front() == '[' && address.host.back() == ']')
    address.host = address.host.substr(1, address.host.size() - 2);
  address.port = whole_number<int>(std::string_view(text).substr(colon + 1)).value_or(0);
  return address.port > 0 && address.port <= 65535 ? address : Address();
}

std::vector<std::string> addresses_of(const char* name) {
  std::vector<std::string> addresses;
  std::istringstream all(variable_of(name));
  for (std::string one; std::getline(all, one, ',');) {
    check(address_from(one).port != 0, ErrorKind::kValue,
          "distributed: {} is a list HOST:PORT,HOST:PORT,... of addresses, got '{}'", name, one);
    addresses.push_back(one);
  }
  return addresses;
}

bool may_be_plain() { return variable_of("HEADRACE_INSECURE") == "1"; }

// Where etcd is, "HOST:PORT,...", or with "https://" before each where it is spoken to by TLS.
void read_etcd(Job& job) {
  std::istringstream all(variable_of("HEADRACE_ETCD"));
  size_t secret = 0;
  for (std::string one; std::getline(all, one, ',');) {
    const std::string_view scheme("https://");
    const bool is_secret = one.starts_with(scheme);
    secret += is_secret;
    job.etcd.push_back(is_secret ? one.substr(scheme.size()) : one);
    const Address address = address_from(job.etcd.back());
    check(address.port != 0, ErrorKind::kValue,
          "distributed: HEADRACE_ETCD is a list HOST:PORT,... or https://HOST:PORT,... of addresses, got '{}'", one);
    check(is_secret || is_loopback(address.host) || may_be_plain(), ErrorKind::kRuntime,
          "distributed: etcd is at {}, and what the scheduler says to it would pass the network without encryption; "
          "write https://{}, or, in a network that you trust, set HEADRACE_INSECURE=1",
          one, one);
  }
  if (secret == 0) return;
  check(secret == job.etcd.size(), ErrorKind::kValue,
        "distributed: {} of the {} addresses of HEADRACE_ETCD begin with https://; all machines of one etcd are spoken "
        "to alike",
        secret, job.etcd.size());
  job.etcd_tls = {variable_of("ETCDCTL_CACERT"), variable_of("ETCDCTL_CERT"), variable_of("ETCDCTL_KEY")};
  check(job.etcd_tls->certificate.empty() == job.etcd_tls->key.empty(), ErrorKind::kValue,
        "distributed: ETCDCTL_CERT is '{}' and ETCDCTL_KEY is '{}'; name the files of a certificate and of its key, or "
        "neither where etcd demands none",
        job.etcd_tls->certificate, job.etcd_tls->key);
}

// A job that could not encrypt what it says, and that nothing but the scheduler's address takes beyond this machine,
// whose own that is: MXNet's launcher gives it to processes that are all here.
bool stays_without_encryption(const Job& job) {
  const bool may_leave = !job.certificates.empty() || may_be_plain() || !job.own_host.empty() ||
                         !variable_of("HEADRACE_SCHEDULERS").empty() || !variable_of("HEADRACE_JOIN").empty();
  return !may_leave && is_address_of_this_machine(job.host);
}

// The address of this process, and that of the scheduler.
void read_hosts(Job& job) {
  if (number_of("DMLC_LOCAL", 0, 0, 1) == 1) {
    job.host = job.own_host = kThisMachine;
    return;
  }
  job.host = variable_of("DMLC_PS_ROOT_URI");
  check(!job.host.empty(), ErrorKind::kValue,
        "distributed: the environment variable DMLC_PS_ROOT_URI, the address of the scheduler, is missing; {}",
        kHowToStart);
  job.own_host = variable_of("DMLC_NODE_HOST");
  const std::string interface = variable_of("DMLC_INTERFACE");
  if (job.own_host.empty() && !interface.empty() && job.role != Role::kScheduler)
    job.own_host = address_of_interface(interface);
  if (stays_without_encryption(job)) job.host = kThisMachine;
  if (job.own_host.empty() && is_loopback(job.host)) job.own_host = job.host;
}

// When silence is too long, and how often it is broken. In MXNet 0, the default of both, means never.
void read_heartbeat(Job& job) {
  constexpr int kMostSeconds = 86'400;
  const int silence = number_of("PS_HEARTBEAT_TIMEOUT", 0, 0, kMostSeconds);
  if (silence > 0) job.silence_ms = 1000 * silence;
  job.ping_ms = 1000 * number_of("PS_HEARTBEAT_INTERVAL", 0, 0, kMostSeconds);
  check(2 * int64_t{job.ping_ms} <= job.silence_ms, ErrorKind::kValue,
        "distributed: PS_HEARTBEAT_INTERVAL is {} seconds, and after {} seconds of silence a process counts as lost; "
        "half of these has to be left for an answer: set PS_HEARTBEAT_TIMEOUT to {} or more, or a shorter interval",
        job.ping_ms / 1000, job.silence_ms / 1000, 2 * job.ping_ms / 1000);
}

// What a scheduler is told of the others, and of etcd.
void read_company(Job& job) {
  job.schedulers = addresses_of("HEADRACE_SCHEDULERS");
  if (job.role != Role::kScheduler) return;
  if (!job.schedulers.empty()) {
    const int last = static_cast<int>(job.schedulers.size()) - 1;
    const Address own = address_from(job.schedulers[static_cast<size_t>(number_of("HEADRACE_SCHEDULER", 0, 0, last))]);
    job.host = own.host;
    job.port = own.port;
  }
  read_etcd(job);
  if (job.etcd.empty()) {
    check(job.schedulers.size() <= 1, ErrorKind::kValue,
          "distributed: HEADRACE_SCHEDULERS names {} schedulers, which need etcd to agree on one of them; name its "
          "addresses by HEADRACE_ETCD",
          job.schedulers.size());
    return;
  }
  job.name = variable_of("HEADRACE_JOB");
  check(!job.name.empty(), ErrorKind::kValue,
        "distributed: the environment variable HEADRACE_JOB is missing: a name for this job, which no other has in the "
        "etcd of HEADRACE_ETCD");
}

// "ADDRESS=OTHER,ADDRESS=OTHER"
std::map<std::string, std::string> routes_of(const std::string& text) {
  std::map<std::string, std::string> routes;
  std::istringstream all(text);
  for (std::string one; std::getline(all, one, ',');) {
    const size_t sign = one.find('=');
    check(sign != one.npos && sign > 0 && sign + 1 < one.size(), ErrorKind::kValue,
          "distributed: HEADRACE_ROUTES is a list HOST:PORT=HOST:PORT,... of addresses of servers and where they are "
          "reached, got '{}'",
          one);
    routes[one.substr(0, sign)] = one.substr(sign + 1);
  }
  return routes;
}

}  // namespace

const char* role_name(Role role) noexcept {
  switch (role) {
    case Role::kNone:
      return "";
    case Role::kWorker:
      return "worker";
    case Role::kServer:
      return "server";
    case Role::kScheduler:
      return "scheduler";
  }
  return "";
}

bool is_loopback(const std::string& host) noexcept {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

int stall_seconds_of_environment() { return number_of("HEADRACE_STALL_SECONDS", 60, 0, 86'400); }

Job job_of_environment() {
  Job job;
  job.role = role_of_process();
  if (job.role == Role::kNone) return job;
  job.certificates = variable_of("HEADRACE_CERTIFICATES");
  read_hosts(job);
  job.port = number_of("DMLC_PS_ROOT_PORT", {}, 1, 65535);
  job.replicas = number_of("HEADRACE_REPLICAS", 1, 1, 2);
  const std::string joins = variable_of("HEADRACE_JOIN");
  check(joins.empty() || joins == "any" || joins == "place", ErrorKind::kValue,
        "distributed: HEADRACE_JOIN is 'any', or 'place' for the one of DMLC_WORKER_ID, got '{}'", joins);
  job.joins = job.role == Role::kWorker && !joins.empty();
  if (job.joins) {
    if (joins == "place") job.rank = number_of("DMLC_WORKER_ID", {}, 0, kMostNodes - 1);
  } else {
    job.workers = number_of("DMLC_NUM_WORKER", {}, 1, kMostNodes);
    job.servers = number_of("DMLC_NUM_SERVER", {}, 0, kMostNodes);
    job.rank = number_of("DMLC_RANK", number_of("DMLC_WORKER_ID", -1, 0, job.workers - 1), 0, job.workers - 1);
    if (const std::string range = variable_of("HEADRACE_ELASTIC"); !range.empty())
      job.elastic = elastic_of(range, job.workers);
  }
  job.begins_anew = job.role == Role::kScheduler && !variable_of("HEADRACE_AWAITED").empty();
  if (job.begins_anew) job.awaited = number_of("HEADRACE_AWAITED", {}, 0, kMostNodes);
  job.is_heard = job.role == Role::kScheduler && number_of("HEADRACE_LAUNCHER", 0, 0, 1) == 1;
  job.shares_memory = number_of("HEADRACE_SHARED_MEMORY", 1, 0, 1) == 1;
  read_heartbeat(job);
  job.verbosity = static_cast<Verbosity>(std::min(number_of("PS_VERBOSE", 0, 0, INT_MAX), 2));
  job.retry_ms = 1000 * number_of("HEADRACE_RETRY_SECONDS", 60, 0, 86'400);
  constexpr int kMostMegabytes = 1 << 30;
  job.limits.message_bytes = static_cast<size_t>(number_of("HEADRACE_MAX_MESSAGE_MB", 2047, 1, 4095)) << 20;
  job.limits.keys = static_cast<size_t>(number_of("HEADRACE_MAX_KEYS", 1'000'000, 1, INT_MAX));
  job.limits.held_bytes = static_cast<size_t>(number_of("HEADRACE_MAX_SERVER_MB", 0, 1, kMostMegabytes)) << 20;
  job.limits.unanswered_bytes = static_cast<size_t>(number_of("HEADRACE_MAX_UNANSWERED_MB", 256, 1, kMostMegabytes))
                                << 20;
  job.routes = routes_of(variable_of("HEADRACE_ROUTES"));
  read_company(job);
  const bool stays_here =
      is_loopback(job.host) && is_loopback(job.own_host) &&
      std::ranges::all_of(job.schedulers, [](const std::string& one) { return is_loopback(address_from(one).host); });
  check(stays_here || !job.certificates.empty() || may_be_plain(), ErrorKind::kRuntime,
        "distributed: the scheduler is at {}, and what processes say to each other would pass the network without "
        "encryption; name the folder of this job's certificates by HEADRACE_CERTIFICATES, or, in a network that you "
        "trust, set HEADRACE_INSECURE=1; where all processes are on this machine, set DMLC_LOCAL=1",
        job.host);
  return job;
}

}  // namespace headrace::distributed
