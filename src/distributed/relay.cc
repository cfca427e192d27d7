#include "distributed/relay.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace headrace::distributed {

using collective::kCommonLanes;

void Relay::take(uint32_t rank, const TransferRequest& request, const Elements& elements, const Asker* asker) {
  note_done(rank, request);
  if (!request.failure().empty() && failure_.empty()) {
    failure_ = request.failure();
    for (auto& [number, meeting] : meetings_) settle(meeting);
  }
  if (request.asks()) {
    if (asker) asker->answer(awaited(request));
    return;
  }
  if (!request.has_value()) {
    if (asker) asker->answer(grpc::Status::OK);
    return;
  }
  check(request.lane() < kCommonLanes, ErrorKind::kValue, "distributed: a transfer of lane {} came; there are {}",
        request.lane(), kCommonLanes);
  check(request.number() >= over_[request.lane()], ErrorKind::kRuntime,
        "distributed: worker {} comes to a transfer that is over for all workers", rank);
  Meeting& meeting = meetings_[{request.lane(), request.number()}];
  meeting.given.resize(workers_);
  meeting.asking.resize(workers_);
  if (!meeting.given[rank]) meeting.given[rank] = checked(rank, request, elements);
  if (asker) meeting.asking[rank].emplace(*asker);
  settle(meeting);
}

// Meetings of which nobody needs anything more are forgotten.
void Relay::note_done(uint32_t rank, const TransferRequest& request) {
  check(rank < workers_ && request.done_size() == static_cast<int>(kCommonLanes), ErrorKind::kValue,
        "distributed: a transfer of worker {} came that none sends", rank);
  Counts& done = done_[rank];
  for (size_t lane = 0; lane < kCommonLanes; ++lane)
    done[lane] = std::max<uint64_t>(done[lane], request.done(static_cast<int>(lane)));
  for (size_t lane = 0; lane < kCommonLanes; ++lane) {
    uint64_t least = UINT64_MAX;
    for (size_t worker = 0; worker < workers_; ++worker) {
      if (departed_.contains(worker)) continue;
      const auto said = done_.find(static_cast<uint32_t>(worker));
      least = std::min(least, said == done_.end() ? 0 : said->second[lane]);
    }
    if (least == UINT64_MAX) continue;  // all have departed
    over_[lane] = std::max(over_[lane], least);
    const auto of_lane = static_cast<uint32_t>(lane);
    meetings_.erase(meetings_.lower_bound({of_lane, 0}), meetings_.lower_bound({of_lane, over_[lane]}));
  }
}

// The ranks that have not given their part, for which others wait.
std::string Relay::awaited(const TransferRequest& request) const {
  const auto found = meetings_.find({request.lane(), request.number()});
  std::string ranks;
  for (size_t rank = 0; found != meetings_.end() && rank < workers_; ++rank)
    if (!found->second.given[rank]) ranks += fmt::format("{} ", rank);
  return ranks;
}

Relay::Given Relay::checked(uint32_t rank, const TransferRequest& request, const Elements& elements) const {
  Given given{elements, {request.sizes().begin(), request.sizes().end()}};
  if (given.sizes.empty()) return given;
  check(given.sizes.size() == workers_, ErrorKind::kValue,
        "distributed: worker {} gives parts for {} workers, the job has {}", rank, given.sizes.size(), workers_);
  given.sizes[rank] = 0;
  size_t left = elements.size();
  for (const size_t size : given.sizes) {
    check(size <= left, ErrorKind::kValue, "distributed: worker {} gives parts of more bytes than came", rank);
    left -= size;
  }
  check(left == 0, ErrorKind::kValue, "distributed: worker {} gives more bytes than its parts have", rank);
  return given;
}

void Relay::settle(Meeting& meeting) {
  bool is_whole = true;
  for (size_t rank = 0; rank < workers_; ++rank) {
    if (meeting.given[rank]) continue;
    is_whole = false;
    if (!failure_.empty()) return refuse(meeting, failure_);
    if (const auto gone = departed_.find(rank); gone != departed_.end()) return refuse(meeting, gone->second);
  }
  if (is_whole) answer(meeting);
}

void Relay::refuse(Meeting& meeting, const std::string& why) {
  for (std::optional<Asker>& asking : meeting.asking) {
    if (asking) asking->answer({grpc::StatusCode::ABORTED, why});
    asking.reset();
  }
}

// What others have given and is meant for a rank, in the order of the ranks.
Elements Relay::for_rank(const Meeting& meeting, size_t rank) {
  std::vector<grpc::Slice> pieces;
  for (size_t from = 0; from < meeting.given.size(); ++from) {
    if (from == rank) continue;
    const Given& given = *meeting.given[from];
    Behind parts(given.elements.pieces());
    if (!given.sizes.empty())
      static_cast<void>(parts.take(
          std::accumulate(given.sizes.begin(), given.sizes.begin() + static_cast<std::ptrdiff_t>(rank), size_t{0})));
    const Elements part = parts.take(given.sizes.empty() ? given.elements.size() : given.sizes[rank]);
    pieces.insert(pieces.end(), part.pieces().begin(), part.pieces().end());
  }
  return Elements(std::move(pieces));
}

void Relay::answer(Meeting& meeting) {
  for (size_t rank = 0; rank < workers_; ++rank) {
    std::optional<Asker>& asking = meeting.asking[rank];
    if (!asking) continue;
    Load load{.elements = for_rank(meeting, rank)};
    if (const BlockPtr block = asking->block_for(load.elements.size())) {
      load.elements.copy_to(block->data());
      load = {.block = block, .bytes = load.elements.size()};
    }
    asking->answer(Array(), std::move(load));
    asking.reset();
  }
}

void Relay::depart(const Departed& worker) {
  departed_.insert_or_assign(static_cast<size_t>(worker.rank), text_of(worker));
  for (auto& [number, meeting] : meetings_) settle(meeting);
}

void Relay::give_up(const std::string& why) {
  for (auto& [number, meeting] : meetings_) refuse(meeting, why);
}

void Relay::copy_to(Backup& backup) const {
  const auto tell = [&](uint32_t rank, TransferRequest transfer, const Elements& elements) {
    Request request;
    request.mutable_repeated()->set_rank(rank);
    const auto done = done_.find(rank);
    for (size_t lane = 0; lane < kCommonLanes; ++lane) transfer.add_done(done == done_.end() ? 0 : done->second[lane]);
    *request.mutable_repeated()->mutable_transfer() = std::move(transfer);
    backup.tell(std::move(request), {.elements = elements});
  };
  if (!failure_.empty()) {
    TransferRequest failed;
    failed.set_failure(failure_);
    tell(0, std::move(failed), {});
  }
  for (const auto& [number, meeting] : meetings_)
    for (size_t rank = 0; rank < workers_; ++rank) {
      if (!meeting.given[rank]) continue;
      TransferRequest transfer;
      transfer.set_lane(number.first);
      transfer.set_number(number.second);
      transfer.mutable_value();
      for (const size_t size : meeting.given[rank]->sizes) transfer.add_sizes(size);
      tell(static_cast<uint32_t>(rank), std::move(transfer), meeting.given[rank]->elements);
    }
}

}  // namespace headrace::distributed
