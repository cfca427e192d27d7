// Transfers: carries out what the ranks have agreed on, in its order, over a wire. Large arrays are cut into chunks, of
// which several are on their way: while one is summed here the next are sent. Belongs to the thread of its group.
//
// Whatever way a fold takes, the ranks of each machine are folded in their order, then the machines in theirs.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "collective/fold.h"
#include "collective/wire.h"

namespace headrace::collective {

// What one call moves. The memory belongs to the caller, until done() was called, unless the call holds it.
struct Work {
  enum class What : uint8_t {
    kNothing,       // all ranks have come here
    kFold,          // `output` is the fold of the `elements` in `input` of all ranks
    kFoldParts,     // of the fold each rank has its part in `output`: elements / ranks
    kFoldShare,     // likewise, its share (Machines::shares)
    kGatherShares,  // `output` has room for the `elements` of all ranks, with the share of this one in its place
    kGather,        // `output` has room for all ranks, `sizes` bytes of each, with what this one gives in its place
    kBroadcast,     // the `elements` in `output` of rank `root` get into that of the others
  };
  What what = What::kNothing;
  Fold fold = Fold::kSum;
  DType dtype = DType::kUint8;
  size_t elements = 0;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::vector<size_t> sizes = {};
  int root = 0;
  std::shared_ptr<void> held = nullptr;  // what `input` and `output` lie in, where nobody else keeps it
  bool by_gang = false;                  // `output`, which is the input, too, is memory of this rank's accelerator
};

class Transfers {
 public:
  explicit Transfers(Wire& wire) : wire_(wire), machines_(wire.machines()) {}

  // `done` is called in advance().
  void add(Work work, std::function<void()> done);
  // Does what can be done without waiting; whether that was anything. Raises RuntimeError when the wire has failed.
  bool advance();
  bool is_idle() const noexcept { return chunks_.empty(); }

 private:
  struct Chunk {
    Work work;                            // of this chunk alone
    std::function<void()> done;           // of the last chunk of a call
    std::vector<Lane> route;              // its transfers, one after the other
    size_t begun = 0;                     // so many of them
    TransferPtr transfer = nullptr;       // the one that was begun last, until it is over
    std::vector<Portion> taken = {};      // what the input is taken from, where it is not one piece
    std::vector<std::byte> packed = {};   // these, one after the other
    std::vector<std::byte> landing = {};  // what a transfer brings, where that is to be folded
    std::vector<std::byte> partial = {};  // the slice of this rank, folded over its machine
  };
  using Sources = std::vector<const std::byte*>;

  void add_chunk(Work work, std::function<void()> done, std::vector<Portion> taken = {});
  void add_fold_of_shares(Work work, const std::function<void()>& done);
  void pack(Chunk& chunk);
  std::vector<Lane> route_of(const Work& work) const;
  bool advance(Chunk& chunk, std::array<bool, kLanes>& is_kept);
  void begin(Chunk& chunk, Lane lane);
  void end(Chunk& chunk, Lane lane);
  void begin_scatter(Chunk& chunk, Lane lane, const std::byte* own);
  void begin_common_gather(Chunk& chunk);
  std::vector<size_t> shares(const Work& work, Lane lane) const;
  Portion own_share(const Work& work, Lane lane) const;
  Sources landed(const Chunk& chunk, Lane lane, const std::byte* own, size_t bytes) const;
  void fold_ranks(const Work& work, const Sources& sources, std::byte* target, size_t elements);
  std::vector<std::byte> take_memory(size_t bytes);
  void give_back(std::vector<std::byte>& memory);

  Wire& wire_;
  const Machines& machines_;
  std::deque<Chunk> chunks_;
  std::vector<std::vector<std::byte>> memory_;  // that is free
};

}  // namespace headrace::collective
