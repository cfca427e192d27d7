#include "collective/transfers.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/check.h"

namespace headrace::collective {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;
constexpr size_t kPieceBytes = size_t{64} << 20;  // of a broadcast
constexpr size_t kOnTheirWay = 4;
constexpr size_t kSmallBytes = 8 << 10;  // all ranks send each other all of it: one way instead of two

bool is_fold(const Work& work) { return work.what == Work::What::kFold || work.what == Work::What::kFoldParts; }

size_t bytes_of(const Work& work) { return work.elements * item_size(work.dtype); }

// In elements, of each rank: as equal as can be.
std::vector<size_t> shares(size_t elements, size_t ranks) {
  std::vector<size_t> made(ranks, elements / ranks);
  for (size_t rank = 0; rank < elements % ranks; ++rank) ++made[rank];
  return made;
}

}  // namespace

void Transfers::add(Work work, std::function<void()> done) {
  const bool is_cut = work.what == Work::What::kFold || work.what == Work::What::kBroadcast;
  const size_t most = (work.what == Work::What::kFold ? kChunkBytes : kPieceBytes) / item_size(work.dtype);
  while (is_cut && work.elements > most) {
    Work first = work;
    first.elements = most;
    const size_t bytes = bytes_of(first);
    if (work.input) work.input += bytes;
    work.output += bytes;
    work.elements -= most;
    add_chunk(std::move(first), {});
  }
  add_chunk(std::move(work), std::move(done));
}

void Transfers::add_chunk(Work work, std::function<void()> done) {
  const auto ranks = static_cast<size_t>(wire_.size());
  const bool scatters = is_fold(work) && (work.what == Work::What::kFoldParts || bytes_of(work) > kSmallBytes);
  Chunk& chunk = chunks_.emplace_back(Chunk{std::move(work), std::move(done), scatters});
  if (chunk.work.what == Work::What::kGather) chunk.sizes = chunk.work.sizes;
  if (!is_fold(chunk.work)) return;
  chunk.sizes = scatters ? shares(chunk.work.elements, ranks) : std::vector<size_t>(ranks, chunk.work.elements);
  for (size_t& size : chunk.sizes) size *= item_size(chunk.work.dtype);
}

std::vector<std::byte> Transfers::take_landing(size_t bytes) {
  std::vector<std::byte> landing;
  if (!landings_.empty()) {
    landing = std::move(landings_.back());
    landings_.pop_back();
  }
  if (landing.size() < bytes) landing.resize(bytes);
  return landing;
}

void Transfers::start_scatter(Chunk& chunk) {
  const size_t own = chunk.sizes[static_cast<size_t>(wire_.rank())];
  chunk.landing = take_landing(own * chunk.sizes.size());
  chunk.transfer = wire_.scatter(chunk.work.input, chunk.sizes, chunk.landing.data());
}

// Folds the parts of all ranks, `part` bytes each: that of this one is `own`, the others lie in the landing.
void Transfers::fold_landing(const Chunk& chunk, const std::byte* own, std::byte* target, size_t part) const {
  std::vector<const std::byte*> sources;
  for (size_t rank = 0; rank < chunk.sizes.size(); ++rank) sources.push_back(chunk.landing.data() + rank * part);
  sources[static_cast<size_t>(wire_.rank())] = own;
  fold_into(target, sources, chunk.work.fold, chunk.work.dtype, part / item_size(chunk.work.dtype));
}

void Transfers::end_scatter(Chunk& chunk) {
  const auto rank = static_cast<size_t>(wire_.rank());
  const bool is_whole = chunk.work.what == Work::What::kFold;
  const size_t offset = std::accumulate(chunk.sizes.begin(), chunk.sizes.begin() + wire_.rank(), size_t{0});
  fold_landing(chunk, chunk.work.input + offset, chunk.work.output + (is_whole ? offset : 0), chunk.sizes[rank]);
  landings_.push_back(std::move(chunk.landing));
}

void Transfers::start_last(Chunk& chunk) {
  const Work& work = chunk.work;
  switch (work.what) {
    case Work::What::kNothing:
    case Work::What::kFoldParts:
      chunk.transfer = nullptr;
      break;
    case Work::What::kBroadcast:
      chunk.transfer = wire_.broadcast(work.output, bytes_of(work), work.root);
      break;
    case Work::What::kGather:
      chunk.transfer = wire_.gather(Lane::kGather, work.output, chunk.sizes);
      break;
    case Work::What::kFold:
      if (!chunk.scatters) {
        const size_t bytes = bytes_of(work);
        chunk.landing = take_landing(bytes * chunk.sizes.size());
        if (bytes) std::memcpy(chunk.landing.data() + static_cast<size_t>(wire_.rank()) * bytes, work.input, bytes);
      }
      chunk.transfer = wire_.gather(Lane::kGather, chunk.scatters ? work.output : chunk.landing.data(), chunk.sizes);
  }
}

void Transfers::finish(Chunk& chunk) {
  if (chunk.work.what == Work::What::kFold && !chunk.scatters) {
    fold_landing(chunk, chunk.work.input, chunk.work.output, bytes_of(chunk.work));
    landings_.push_back(std::move(chunk.landing));
  }
  if (chunk.done) chunk.done();
}

// Transfers of a lane are begun in the order of the chunks, on all ranks; what of different lanes comes first does not
// matter.
bool Transfers::advance() {
  bool has_moved = false;
  for (; scatters_ < std::min(kOnTheirWay, chunks_.size()); ++scatters_) {
    has_moved = true;
    if (chunks_[scatters_].scatters) start_scatter(chunks_[scatters_]);
  }
  for (; lasts_ < scatters_; ++lasts_) {
    Chunk& chunk = chunks_[lasts_];
    if (chunk.scatters) {
      if (!chunk.transfer->is_done()) break;
      end_scatter(chunk);
    }
    start_last(chunk);
    has_moved = true;
  }
  while (lasts_ > 0) {
    Chunk& chunk = chunks_.front();
    if (chunk.transfer && !chunk.transfer->is_done()) break;
    finish(chunk);
    chunks_.pop_front();
    --scatters_;
    --lasts_;
    has_moved = true;
  }
  return has_moved;
}

}  // namespace headrace::collective
