// Relay: what workers of a job give each other through a server: transfers as collective/wire.h has them. What was
// given stays until every worker needs it no more, so that a worker whose answer was lost is answered again, by this
// process or by its backup, which is told the same. Belongs to the thread of the server.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collective/wire.h"
#include "distributed/backup.h"
#include "distributed/exchange.h"
#include "distributed/membership.h"

namespace headrace::distributed {

class Relay {
 public:
  explicit Relay(int workers) : workers_(static_cast<size_t>(workers)) {}

  // A request of a worker; `asker` is answered now or by a later call. Null: another process answers. Raises ValueError
  // for what no worker gives, RuntimeError for a transfer that is over.
  void take(uint32_t rank, const TransferRequest& request, const Elements& elements, const Asker* asker);
  // A worker is not there any more: who waits for what it has not given is told. What it has given counts.
  void depart(const Departed& worker);
  // Whoever waits is told this.
  void give_up(const std::string& why);
  // Tells a backup that has come later everything.
  void copy_to(Backup& backup) const;

 private:
  using Counts = std::array<uint64_t, collective::kCommonLanes>;  // by lane

  struct Given {
    Elements elements;
    std::vector<size_t> sizes;  // of what is for each rank; empty: all is for everyone
  };
  struct Meeting {
    std::vector<std::optional<Given>> given;   // by rank
    std::vector<std::optional<Asker>> asking;  // by rank: who waits
  };
  using Number = std::pair<uint32_t, uint64_t>;  // of a meeting: its lane, and its number there

  void note_done(uint32_t rank, const TransferRequest& request);
  std::string awaited(const TransferRequest& request) const;
  Given checked(uint32_t rank, const TransferRequest& request, const Elements& elements) const;
  void settle(Meeting& meeting);
  void answer(Meeting& meeting);
  static Elements for_rank(const Meeting& meeting, size_t rank);
  static void refuse(Meeting& meeting, const std::string& why);

  const size_t workers_;
  std::map<Number, Meeting> meetings_;
  std::map<uint32_t, Counts> done_;         // by rank, of those who have said so
  Counts over_{};                           // meetings below these are over for all
  std::map<size_t, std::string> departed_;  // by rank: what became of it
  std::string failure_;                     // of a worker that gives no more
};

}  // namespace headrace::distributed
