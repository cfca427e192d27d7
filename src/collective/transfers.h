// Transfers: carries out what the ranks have agreed on, in its order, over a wire. Large arrays are cut into chunks, of
// which several are on their way: while one is summed here the next are sent. Belongs to the thread of its group.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "collective/fold.h"
#include "collective/wire.h"

namespace headrace::collective {

// What one call moves. The memory belongs to the caller, until done() was called.
struct Work {
  enum class What : uint8_t {
    kNothing,    // all ranks have come here
    kFold,       // `output` is the fold of the `elements` in `input` of all ranks
    kFoldParts,  // of the fold each rank has its part in `output`: elements / ranks
    kGather,     // `output` has room for all ranks, `sizes` bytes of each, with what this one gives in its place
    kBroadcast,  // the `elements` in `output` of rank `root` get into that of the others
  };
  What what = What::kNothing;
  Fold fold = Fold::kSum;
  DType dtype = DType::kUint8;
  size_t elements = 0;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::vector<size_t> sizes = {};
  int root = 0;
};

class Transfers {
 public:
  explicit Transfers(Wire& wire) : wire_(wire) {}

  // `done` is called in advance().
  void add(Work work, std::function<void()> done);
  // Does what can be done without waiting; whether that was anything. Raises RuntimeError when the wire has failed.
  bool advance();
  bool is_idle() const noexcept { return chunks_.empty(); }

 private:
  struct Chunk {
    Work work;                   // of this chunk alone
    std::function<void()> done;  // of the last chunk of a call
    bool scatters;
    std::vector<size_t> sizes = {};  // in bytes, by rank
    std::vector<std::byte> landing = {};
    TransferPtr transfer = nullptr;  // the one that was begun last
  };

  void add_chunk(Work work, std::function<void()> done);
  void start_scatter(Chunk& chunk);
  void end_scatter(Chunk& chunk);
  void start_last(Chunk& chunk);
  void finish(Chunk& chunk);
  void fold_landing(const Chunk& chunk, const std::byte* own, std::byte* target, size_t part) const;
  std::vector<std::byte> take_landing(size_t bytes);

  Wire& wire_;
  std::deque<Chunk> chunks_;
  size_t scatters_ = 0;                           // so many of the first chunks have begun to scatter, or need not
  size_t lasts_ = 0;                              // so many have begun their last transfer
  std::vector<std::vector<std::byte>> landings_;  // that are free
};

}  // namespace headrace::collective
