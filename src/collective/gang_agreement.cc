#include "collective/gang_agreement.h"

#include <fmt/format.h>

#include <algorithm>

namespace headrace::collective {

void GangAgreement::refuse(int rank, const std::string& why) {
  if (state_ == State::kRefused) return;
  state_ = State::kRefused;
  if (!why.empty()) why_refused_ = fmt::format("rank {}: {}", rank, why);
}

void GangAgreement::hear_offer(int rank, const std::string& identity, const std::string& meeting_point,
                               const std::optional<std::string>& why_not) {
  if (why_not) return refuse(rank, *why_not);
  if (state_ == State::kRefused) return;
  const auto same = std::ranges::find(offers_, identity);
  if (same != offers_.end())
    return refuse(rank, fmt::format("it has the same GPU as rank {}, and NCCL connects different ones; give each rank "
                                    "its own, mx.gpu(mx.distributed.local_rank())",
                                    same - offers_.begin()));
  offers_[static_cast<size_t>(rank)] = identity;
  if (rank == 0) meeting_point_ = meeting_point;
  if (std::ranges::all_of(offers_, [](const auto& one) { return one.has_value(); })) state_ = State::kConnecting;
}

void GangAgreement::hear_connection(int rank, const std::optional<std::string>& why_not) {
  if (why_not) return refuse(rank, *why_not);
  is_connected_[static_cast<size_t>(rank)] = true;
  if (state_ == State::kConnecting && std::ranges::find(is_connected_, false) == is_connected_.end())
    state_ = State::kConnected;
}

}  // namespace headrace::collective
