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
constexpr size_t kTileElements = 4096;   // elements that are folded by machines at once
constexpr size_t kSmallBytes = 8 << 10;  // all ranks send each other all of it: one way instead of two

size_t bytes_of(const Work& work) { return work.elements * item_size(work.dtype); }
bool is_small(const Work& work) { return bytes_of(work) <= kSmallBytes; }

size_t sum_of(std::span<const size_t> sizes) { return std::accumulate(sizes.begin(), sizes.end(), size_t{0}); }

std::vector<size_t> in_bytes(std::vector<size_t> elements, DType dtype) {
  for (size_t& count : elements) count *= item_size(dtype);
  return elements;
}

}  // namespace

void Transfers::add(Work work, std::function<void()> done) {
  if (work.what == Work::What::kFoldShare) return add_fold_of_shares(std::move(work), done);
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

// A chunk has as much of each rank's share, so that ranks share it as they do the whole.
void Transfers::add_fold_of_shares(Work work, const std::function<void()>& done) {
  std::vector<Portion> left = machines_.shares(work.elements);
  std::ranges::stable_sort(left, {}, &Portion::begin);
  const size_t most = std::max(kChunkBytes / item_size(work.dtype) / left.size(), size_t{1});
  for (bool is_last = false; !is_last;) {
    is_last = std::ranges::all_of(left, [most](const Portion& share) { return share.size <= most; });
    std::vector<Portion> taken;
    Work part = work;
    part.elements = 0;
    for (Portion& share : left) {
      taken.push_back({share.begin, std::min(share.size, most)});
      part.elements += taken.back().size;
      share.begin += taken.back().size;
      share.size -= taken.back().size;
    }
    work.output += most * item_size(work.dtype);
    if (part.elements == work.elements) taken.clear();
    add_chunk(std::move(part), is_last ? done : nullptr, std::move(taken));
  }
}

void Transfers::add_chunk(Work work, std::function<void()> done, std::vector<Portion> taken) {
  std::vector<Lane> route = route_of(work);
  chunks_.push_back(
      {.work = std::move(work), .done = std::move(done), .route = std::move(route), .taken = std::move(taken)});
}

std::vector<Lane> Transfers::route_of(const Work& work) const {
  std::vector<Lane> scatters{Lane::kScatter}, gathers{Lane::kGather};
  if (machines_.is_hierarchical()) {
    scatters = {Lane::kMachineScatter};
    gathers = {Lane::kMachineGather};
    if (machines_.has_slice()) {
      scatters.push_back(Lane::kAcrossScatter);
      gathers.insert(gathers.begin(), Lane::kAcrossGather);
    }
  }
  switch (work.what) {
    case Work::What::kNothing:
      return {};
    case Work::What::kGather:
    case Work::What::kBroadcast:
      return {Lane::kGather};
    case Work::What::kFoldParts:
      return {Lane::kScatter};
    case Work::What::kFoldShare:
      return scatters;
    case Work::What::kGatherShares:
      return gathers;
    case Work::What::kFold:
      break;
  }
  if (is_small(work)) return {Lane::kGather};
  scatters.insert(scatters.end(), gathers.begin(), gathers.end());
  return scatters;
}

// What of a fold belongs to each member of a lane, in elements.
std::vector<size_t> Transfers::shares(const Work& work, Lane lane) const {
  if (lane == Lane::kAcrossScatter || lane == Lane::kAcrossGather)
    return equal_shares(own_share(work, Lane::kMachineScatter).size, machines_.ranks().size());
  if (lane != Lane::kMachineScatter && lane != Lane::kMachineGather)
    return equal_shares(work.elements, static_cast<size_t>(wire_.size()));
  std::vector<size_t> made = equal_shares(work.elements, machines_.slices());
  made.resize(machines_.local_size());
  return made;
}

Portion Transfers::own_share(const Work& work, Lane lane) const {
  const std::vector<size_t> all = shares(work, lane);
  const size_t place = machines_.place(lane);
  return {sum_of(std::span(all).first(place)), all[place]};
}

std::vector<std::byte> Transfers::take_memory(size_t bytes) {
  std::vector<std::byte> taken;
  if (!memory_.empty()) {
    taken = std::move(memory_.back());
    memory_.pop_back();
  }
  if (taken.size() < bytes) taken.resize(bytes);
  return taken;
}

void Transfers::give_back(std::vector<std::byte>& memory) {
  if (!memory.empty()) memory_.push_back(std::move(memory));
  memory.clear();
}

// --- the steps of a chunk --------------------------------------------------------------------------------------------

void Transfers::pack(Chunk& chunk) {
  const size_t item = item_size(chunk.work.dtype);
  chunk.packed = take_memory(bytes_of(chunk.work));
  std::byte* place = chunk.packed.data();
  for (const Portion& part : chunk.taken) {
    std::copy_n(chunk.work.input + part.begin * item, part.size * item, place);
    place += part.size * item;
  }
  chunk.work.input = chunk.packed.data();
}

void Transfers::begin(Chunk& chunk, Lane lane) {
  if (chunk.begun == 1 && !chunk.taken.empty()) pack(chunk);
  const Work& work = chunk.work;
  switch (lane) {
    case Lane::kAgreement:
      break;  // of the group itself
    case Lane::kScatter:
    case Lane::kMachineScatter:
      return begin_scatter(chunk, lane, work.input);
    case Lane::kAcrossScatter:
      return begin_scatter(chunk, lane, chunk.partial.data());
    case Lane::kAcrossGather: {
      const size_t before = own_share(work, Lane::kMachineScatter).begin * item_size(work.dtype);
      chunk.transfer = wire_.gather(lane, work.output + before, in_bytes(shares(work, lane), work.dtype));
      break;
    }
    case Lane::kMachineGather:
      chunk.transfer = wire_.gather(lane, work.output, in_bytes(shares(work, lane), work.dtype));
      break;
    case Lane::kGather:
      begin_common_gather(chunk);
  }
}

void Transfers::begin_scatter(Chunk& chunk, Lane lane, const std::byte* own) {
  const Work& work = chunk.work;
  const DType dtype = lane == Lane::kAcrossScatter ? partial_dtype(work.fold, work.dtype) : work.dtype;
  const std::vector<size_t> sizes = in_bytes(shares(work, lane), dtype);
  chunk.landing = take_memory(sizes[machines_.place(lane)] * sizes.size());
  chunk.transfer = wire_.scatter(lane, own, sizes, chunk.landing.data());
}

void Transfers::begin_common_gather(Chunk& chunk) {
  const Work& work = chunk.work;
  if (work.what == Work::What::kBroadcast) {
    chunk.transfer = wire_.broadcast(work.output, bytes_of(work), work.root);
  } else if (work.what == Work::What::kGather) {
    chunk.transfer = wire_.gather(Lane::kGather, work.output, work.sizes);
  } else if (work.what == Work::What::kFold && is_small(work)) {
    const size_t bytes = bytes_of(work), ranks = static_cast<size_t>(wire_.size());
    chunk.landing = take_memory(bytes * ranks);
    if (bytes) std::memcpy(chunk.landing.data() + static_cast<size_t>(wire_.rank()) * bytes, work.input, bytes);
    chunk.transfer = wire_.gather(Lane::kGather, chunk.landing.data(), std::vector<size_t>(ranks, bytes));
  } else {
    chunk.transfer = wire_.gather(Lane::kGather, work.output, in_bytes(shares(work, Lane::kGather), work.dtype));
  }
}

void Transfers::end(Chunk& chunk, Lane lane) {
  const Work& work = chunk.work;
  const size_t item = item_size(work.dtype);
  const DType partial = partial_dtype(work.fold, work.dtype);
  const bool is_whole = work.what == Work::What::kFold;
  chunk.transfer = nullptr;
  if (lane == Lane::kScatter) {
    const Portion own = own_share(work, lane);
    const Sources sources = landed(chunk, lane, work.input + own.begin * item, own.size * item);
    fold_ranks(work, sources, work.output + (is_whole ? own.begin * item : 0), own.size);
  } else if (lane == Lane::kMachineScatter) {
    const Portion own = own_share(work, lane);
    const Sources sources = landed(chunk, lane, work.input + own.begin * item, own.size * item);
    chunk.partial = take_memory(own.size * item_size(partial));
    fold_into(chunk.partial.data(), partial, sources, work.dtype, work.fold, own.size);
  } else if (lane == Lane::kAcrossScatter) {
    const Portion own = own_share(work, lane);
    const size_t slice = own_share(work, Lane::kMachineScatter).begin, bytes = item_size(partial);
    const Sources sources = landed(chunk, lane, chunk.partial.data() + own.begin * bytes, own.size * bytes);
    fold_into(work.output + (is_whole ? (slice + own.begin) * item : 0), work.dtype, sources, partial, work.fold,
              own.size);
    give_back(chunk.partial);
  } else if (is_whole && is_small(work)) {
    fold_ranks(work, landed(chunk, lane, work.input, bytes_of(work)), work.output, work.elements);
  }
  give_back(chunk.landing);
  if (chunk.begun == chunk.route.size()) give_back(chunk.packed);
}

// Where what the members of a lane gave lies, `bytes` of each: `own` is that of this one.
Transfers::Sources Transfers::landed(const Chunk& chunk, Lane lane, const std::byte* own, size_t bytes) const {
  Sources sources(machines_.members(lane).size());
  for (size_t place = 0; place < sources.size(); ++place) sources[place] = chunk.landing.data() + place * bytes;
  sources[machines_.place(lane)] = own;
  return sources;
}

// Of all ranks at once, in the order of a hierarchy.
void Transfers::fold_ranks(const Work& work, const Sources& sources, std::byte* target, size_t elements) {
  if (!machines_.is_hierarchical()) return fold_into(target, work.dtype, sources, work.dtype, work.fold, elements);
  const DType partial = partial_dtype(work.fold, work.dtype);
  const size_t item = item_size(work.dtype), row = kTileElements * item_size(partial);
  std::vector<std::byte> memory = take_memory(row * machines_.ranks().size());
  for (size_t begin = 0; begin < elements; begin += kTileElements) {
    const size_t count = std::min(kTileElements, elements - begin);
    Sources of_machines;
    for (const std::vector<int>& ranks : machines_.ranks()) {
      Sources of_ranks;
      for (const int rank : ranks) of_ranks.push_back(sources[static_cast<size_t>(rank)] + begin * item);
      std::byte* const place = memory.data() + of_machines.size() * row;
      fold_into(place, partial, of_ranks, work.dtype, work.fold, count);
      of_machines.push_back(place);
    }
    fold_into(target + begin * item, work.dtype, of_machines, partial, work.fold, count);
  }
  give_back(memory);
}

// --- all chunks ------------------------------------------------------------------------------------------------------

// Begins what can be begun. A lane that the chunk has still to use is kept from the chunks after it: their transfers of
// it come later on all ranks.
bool Transfers::advance(Chunk& chunk, std::array<bool, kLanes>& is_kept) {
  bool has_moved = false;
  for (;;) {
    if (chunk.transfer) {
      if (!chunk.transfer->is_done()) break;
      end(chunk, chunk.route[chunk.begun - 1]);
      has_moved = true;
    }
    if (chunk.begun == chunk.route.size() || is_kept[static_cast<size_t>(chunk.route[chunk.begun])]) break;
    begin(chunk, chunk.route[chunk.begun++]);
    has_moved = true;
  }
  for (size_t step = chunk.begun; step < chunk.route.size(); ++step)
    is_kept[static_cast<size_t>(chunk.route[step])] = true;
  return has_moved;
}

bool Transfers::advance() {
  bool has_moved = false;
  std::array<bool, kLanes> is_kept{};
  for (size_t place = 0; place < std::min(kOnTheirWay, chunks_.size()); ++place)
    has_moved |= advance(chunks_[place], is_kept);
  while (!chunks_.empty() && chunks_.front().begun == chunks_.front().route.size() && !chunks_.front().transfer) {
    if (chunks_.front().done) chunks_.front().done();
    chunks_.pop_front();
    has_moved = true;
  }
  return has_moved;
}

}  // namespace headrace::collective
