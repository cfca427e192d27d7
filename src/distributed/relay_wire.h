// RelayWire: what moves bytes between the workers of a job with servers: each worker gives them to a server, which has
// those of all when the last one comes (relay.h). Made, used and destroyed by one thread.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "collective/wire.h"
#include "distributed/completed_transfers.h"
#include "distributed/session.h"

namespace headrace::distributed {

class RelayWire final : public collective::Wire {
 public:
  // Waits until all workers have come. `session` outlives it. Raises RuntimeError where workers come and go, and when
  // one of them, a server or the scheduler was lost.
  explicit RelayWire(Session& session);
  // Waits until the servers have what this worker has given.
  ~RelayWire() override;

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  const collective::Machines& machines() const noexcept override { return *machines_; }

  collective::TransferPtr scatter(collective::Lane lane, const std::byte* own, std::span<const size_t> sizes,
                                  std::byte* all) override;
  collective::TransferPtr gather(collective::Lane lane, std::byte* all, std::span<const size_t> sizes) override;
  collective::TransferPtr broadcast(std::byte* data, size_t size, int root) override;

  bool tell_news(std::function<void()> news) override;
  void watch(std::shared_ptr<const std::atomic<int>> waiting) override { waiting_ = std::move(waiting); }
  bool outlasts_ranks() const noexcept override { return true; }
  void abort(const std::string& why) override;

 private:
  class Transfer;
  struct Answer;
  // Answers may come when the wire is not there any more.
  struct News {
    std::mutex mutex;
    std::function<void()> tell;  // guarded by mutex
  };
  using Counts = std::array<uint64_t, collective::kCommonLanes>;
  using Pieces = std::vector<std::span<const std::byte>>;
  // Puts what the others gave where it belongs.
  using Receive = std::function<void(const Elements&)>;

  collective::TransferPtr begin(collective::Lane lane, const Pieces& given, std::span<const size_t> sizes,
                                Receive receive);
  Load load_of(size_t server, const Pieces& pieces);
  std::shared_ptr<Answer> ask(size_t server, TransferRequest transfer, Load load, bool moves = true);
  Standstill::Wait wait_for(collective::Lane lane, uint64_t number) const;
  Counts done_by_lane() const;
  void tell(size_t server);
  void find_machines();

  Session& session_;
  const std::shared_ptr<News> news_ = std::make_shared<News>();
  const int rank_, size_;
  std::shared_ptr<const std::atomic<int>> waiting_;  // null: the program waits until the wire is there
  std::optional<collective::Machines> machines_;
  Counts begun_{};                                                   // by lane
  std::array<CompletedTransfers, collective::kCommonLanes> done_{};  // by lane
};

// Of the job of this process. Raises RuntimeError where it has no servers, and as the constructor.
std::unique_ptr<collective::Wire> open_relay_wire();

}  // namespace headrace::distributed
