// Job: what a process is told about the processes that it works with: MXNet's variables (DMLC_ROLE and so on), which
// `python -m headrace.launch` sets, too.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "distributed/limits.h"
#include "distributed/verbosity.h"
#include "headrace/distributed.hpp"

namespace headrace::distributed {

const char* role_name(Role role) noexcept;

// Of a job whose workers may come and go: how many there are.
struct Elastic {
  int least = 0, most = 0;  // most is 0: it is not elastic
  bool is_on() const noexcept { return most > 0; }
};

// Files in PEM by which processes prove to each other who they are. Empty: of authorities, those that the system
// trusts; of a certificate and its key, none.
struct TlsFiles {
  std::string authorities, certificate, key;
};

struct Job {
  Role role = Role::kNone;
  std::string host;                          // of the scheduler; to one of several, its own
  int port = 0;                              // of the scheduler
  std::vector<std::string> schedulers = {};  // addresses of several, of which one leads; empty: there is one
  int workers = 0, servers = 0;
  int replicas = 1;           // processes for each server: one serves, another stands by
  int rank = -1;              // that a worker asks for, or would like to have if it joins; -1: any
  std::string own_host;       // where others reach this process; empty: as the scheduler's, if that is this machine
  std::string certificates;   // folder of ca.pem, cert.pem and key.pem; empty: what is said is not encrypted
  bool shares_memory = true;  // with processes on this machine that allow it
  int silence_ms = 20'000;    // after which a node that says nothing counts as lost
  int ping_ms = 0;            // after which one that is quiet is asked for a sign of life; 0: a part of that
  int retry_ms = 60'000;      // for which a worker tries to reach a server again that does not answer
  Elastic elastic = {};
  bool begins_anew = false;  // these two of a scheduler: its launcher starts a synchronous job again for who would join
  int awaited = 0;           // workers that have asked for it, of which it waits for a while
  bool is_heard = false;     // a scheduler: its launcher reads what it prints of who has come
  bool joins = false;        // a worker, a job that runs already, maybe: it was told neither of workers nor of servers
  bool asynchronous = false;  // a worker: the store for which it comes
  Limits limits = {};
  Verbosity verbosity = Verbosity::kQuiet;
  std::string name = {};                  // these: of a scheduler that is one of several; tells jobs apart in etcd
  std::vector<std::string> etcd = {};     // addresses of its machines; empty: the scheduler is alone
  std::optional<TlsFiles> etcd_tls = {};  // none: what is said to it is not encrypted
  std::map<std::string, std::string> routes = {};  // by address of a server: where this process reaches it
};

// The ranks that workers of the job may have are below it.
inline int most_workers(const Job& job) noexcept { return job.elastic.is_on() ? job.elastic.most : job.workers; }

// From the environment. A process without DMLC_ROLE is none of a job. Raises ValueError, naming the variable, for what
// is missing or cannot be read; RuntimeError where a job would speak without encryption beyond this machine.
Job job_of_environment();

// HEADRACE_STALL_SECONDS: what is a long time to wait for others. Raises ValueError for what is no number.
int stall_seconds_of_environment();

// Whether an address means this machine alone.
bool is_loopback(const std::string& host) noexcept;

}  // namespace headrace::distributed
