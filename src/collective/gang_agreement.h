// What ranks have told each other about their accelerators: whether these exchange arrays by a library of their
// vendor's (device/rank_gang.h). All ranks hear the same in the same order. Belongs to Agreement.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::collective {

class GangAgreement {
 public:
  explicit GangAgreement(int size) : offers_(static_cast<size_t>(size)), is_connected_(static_cast<size_t>(size)) {}

  enum class State : uint8_t {
    kOpen,        // not all ranks have told of one
    kConnecting,  // all have one; they meet where rank 0 has said
    kConnected,
    kRefused,  // arrays pass through the memory of the host
  };
  State state() const noexcept { return state_; }
  const std::string& meeting_point() const noexcept { return meeting_point_; }
  // Empty: somebody does not want it, or it is not refused.
  const std::string& why_refused() const noexcept { return why_refused_; }

  // Of a rank: which accelerator it has, and, of rank 0, where all meet. `why_not`: it has none that could.
  void hear_offer(int rank, const std::string& identity, const std::string& meeting_point,
                  const std::optional<std::string>& why_not);
  // Of a rank: it is connected, or is not.
  void hear_connection(int rank, const std::optional<std::string>& why_not);

 private:
  void refuse(int rank, const std::string& why);

  State state_ = State::kOpen;
  std::vector<std::optional<std::string>> offers_;  // by rank: identities
  std::vector<bool> is_connected_;                  // by rank
  std::string meeting_point_, why_refused_;
};

}  // namespace headrace::collective
