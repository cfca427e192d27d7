// Agreement: what the ranks of a group do next. Each rank tells all others which calls its program has made (announced)
// and which of them have their values (ready); all hear the same blocks in the same order and draw the same
// conclusions, so nobody has to be asked. What goes out is what all ranks are ready for.
//
// Calls of one name are in the order of the program; those of different names may be in another order on each rank.
// Belongs to the thread of its group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collective/gang_agreement.h"
#include "headrace/error.hpp"

namespace headrace::collective {

struct CallFailure {
  ErrorKind kind = ErrorKind::kRuntime;
  std::string text;
};

// What has happened on a rank.
struct Event {
  enum class What : uint8_t {
    kAnnounced,  // a call was made
    kStated,     // one that moves nothing, whose text is told once: it gets no number
    kReady,      // one has its values; with a failure: they could not be computed
    kEnded,      // the program makes no calls any more; with a failure: it has failed
    kFinished,   // all ranks have ended, and all calls of this one are over: it takes no part in what comes after the
                 // block in which the last rank tells this
    kJoined,     // it has no more data, and waits for the calls of others
    kStalled,    // its program waits for calls of others, and nothing has happened anywhere for too long
    // Of the rank's accelerator (gang_agreement.h):
    kOffered,    // which it is, the name; the call is where all meet, of rank 0. With a failure: it has none
    kConnected,  // with those of all others; with a failure: it cannot be
    kBroken,     // calls that it had begun may never be over, for this failure
  };
  What what;
  std::string name = {}, call = {};  // of these two; `call` says all that ranks have to agree in
  uint64_t place = 0;                // of kReady: how many calls of that name were made before it
  int urgency = 0;                   // of kReady
  bool by_gang = false;              // of kReady: the values are on the rank's accelerator
  std::optional<CallFailure> failure = {};
};

// A call that goes out, or fails, on the ranks that had announced it.
struct Decision {
  enum class Way : uint8_t {
    kHost,    // all have their values in the memory of the host
    kGang,    // all have theirs on accelerators that are connected
    kToHost,  // this rank is not ready: its values are wanted in the memory of the host, as not all have theirs so
  };
  std::string name, call;
  int urgency = 0;  // the greatest of all ranks
  std::optional<CallFailure> failure = {};
  Way way = Way::kHost;
};

class Agreement {
 public:
  Agreement(int rank, int size);

  // The block that tells the others of events here, in their order.
  std::vector<std::byte> block_of(std::span<const Event> events) const;
  // What a rank has told. Raises RuntimeError for bytes that are no block.
  void hear(int rank, std::span<const std::byte> block);
  // What follows from all that was heard, for the calls of this rank: the most urgent first.
  std::vector<Decision> decide();

  // Whether the last blocks of the ranks told of anything.
  bool has_news() const noexcept { return has_news_; }
  // Whether a call was made everywhere, and somebody computes its values.
  bool awaits_values() const noexcept;
  bool all_have_ended() const noexcept;
  bool somebody_has_ended() const noexcept;
  bool all_have_finished() const noexcept { return finished_ == size_; }
  // Whether a rank has made a call that this one has not.
  bool is_behind() const noexcept;
  // How often all ranks had joined after the same calls.
  uint64_t joined() const noexcept { return joined_; }
  // Why no call can succeed any more, on all ranks.
  const std::optional<CallFailure>& broken() const noexcept { return broken_; }
  const GangAgreement& gang() const noexcept { return gang_; }
  // Calls that accelerators have begun may never be over.
  bool is_gang_broken() const noexcept { return is_gang_broken_; }

 private:
  struct Call {
    uint32_t text = 0;
    std::optional<std::string> stated = {};  // in place of a text that has a number
    bool ready = false, by_gang = false;
    int urgency = 0;
    std::optional<CallFailure> failure = {};
  };
  struct Stream {
    std::string name;
    std::vector<std::deque<Call>> calls;  // of each rank, without those that were decided
    uint64_t decided = 0;
    bool is_changed = false;
  };

  uint32_t number_of(std::string_view text);  // the same on all ranks
  Stream& stream_of(uint32_t name);
  void hear_event(int rank, class BlockReader& reader);
  void hear_of_gang(int rank, const Event& event);
  void consider_all() noexcept;
  std::optional<Decision::Way> way_of(const Stream& stream) const;
  void send_to_host(Stream& stream, std::vector<Decision>& decisions);
  void decide_stream(Stream& stream, std::vector<Decision>& decisions);
  Decision take(Stream& stream);
  void break_down(std::string text);
  void break_if_mismatched(const Stream& stream, int rank);
  void break_if_somebody_has_ended(Stream& stream);
  void conclude_join();
  const std::string& text_of(const Call& call) const { return call.stated ? *call.stated : texts_[call.text]; }
  const std::string& text_of(const Stream& stream, int rank) const;
  std::string text_of_waits() const;

  const int rank_, size_;
  std::map<std::string, uint32_t, std::less<>> numbers_;  // of all names and calls
  std::vector<std::string> texts_;
  std::map<uint32_t, Stream> streams_;                            // by the number of the name
  std::vector<std::optional<std::optional<CallFailure>>> ended_;  // by rank: whether, and of which failure
  int finished_ = 0;                                              // ranks
  std::vector<bool> has_joined_;                                  // by rank: it waits for the calls of others
  uint64_t joined_ = 0;
  bool has_news_ = false;
  int stalled_ = 0;  // ranks, in their last blocks
  std::optional<CallFailure> broken_;
  GangAgreement gang_;
  bool is_gang_broken_ = false;
};

}  // namespace headrace::collective
