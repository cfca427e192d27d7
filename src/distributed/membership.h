// A node's part in its job: it knows its rank, the servers and who has left, and meets other workers. When the
// connection to the scheduler breaks it makes another one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "distributed/job.h"
#include "distributed/protocol.pb.h"

namespace headrace::distributed {

// Another node that is not there any more.
struct Departed {
  Role role;
  int rank;
  bool is_lost;              // it had not said that it ends
  uint64_t incarnation = 0;  // that it was
};
std::string text_of(const Departed& departed);  // "worker 2 was lost"

// Functions that hear of what happens later; called by a thread of the membership, which they must not hold up.
struct Observer {
  std::function<void(const Departed&)> departed = [](const Departed&) {};
  std::function<void(const Serving&)> serving = [](const Serving&) {};
  // Workers wait for each other for ever, this one among them.
  std::function<void(const std::string& why)> stands = [](const std::string&) {};
  std::function<void(const std::string& why)> ended = [](const std::string&) {};  // empty: no worker is left
};

class Membership {
 public:
  // Joins and waits until all nodes have. `address`: of a server. Raises RuntimeError, naming the address, when the
  // scheduler cannot be reached for as long as the job says, a minute at least, or with its reason when it refuses.
  Membership(const Job& job, const std::string& address, Observer observer);
  // A worker says that it ends.
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  int rank() const noexcept;
  uint64_t incarnation() const noexcept;                 // above those of all that had the rank before
  const std::vector<Serving>& servers() const noexcept;  // by number, as the job began
  // How many workers there are, as far as this node was told: their ranks are below it. In an open job it changes.
  int workers() const noexcept;
  bool is_open() const noexcept;     // workers come and go while the job runs
  bool has_joined() const noexcept;  // this one came when it ran
  // Waits until every worker has come here. Raises RuntimeError, naming the worker, when one has ended before, or the
  // scheduler, when that was lost.
  void barrier();
  // Tells what this worker waits for, but for who it is, if the scheduler can be told now.
  void stand(Standing standing);
  // The backup of this server, which has come later, has all that this one has. The scheduler hears of it in time.
  void tell_copied(const std::string& backup);
  // Workers that have been lost, and in whose place no other one has come.
  int lost_workers() const noexcept;

 private:
  class Attending;
  const std::unique_ptr<Attending> attending_;
};

}  // namespace headrace::distributed
