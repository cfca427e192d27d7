#include "device/scratch.h"

#include <algorithm>

#include "device/registry.h"
#include "device/stream.h"

namespace headrace {

// The smallest block that is large enough.
void* Scratch::take(size_t bytes) {
  Block* best = nullptr;
  for (Block& block : blocks_)
    if (!block.is_taken && block.bytes >= bytes && (!best || block.bytes < best->bytes)) best = &block;
  if (best) {
    best->is_taken = true;
    return best->data;
  }
  blocks_.reserve(blocks_.size() + 1);  // the block is not lost when this fails
  return blocks_.emplace_back(Block{allocator_of(device_).allocate(bytes), bytes, true}).data;
}

void Scratch::give_back(const void* block) noexcept {
  const auto found = std::ranges::find(blocks_, block, &Block::data);
  if (found != blocks_.end()) found->is_taken = false;
}

size_t Scratch::bytes() const noexcept {
  size_t sum = 0;
  for (const Block& block : blocks_) sum += block.bytes;
  return sum;
}

void Scratch::release() noexcept {
  for (const Block& block : blocks_) allocator_of(device_).release(block.data, block.bytes);
  blocks_.clear();
}

ScratchBlock take_scratch(size_t bytes) {
  Work* const work = current_work();
  if (!work) return allocator_of(Device{}).allocate_scratch(bytes);
  void* const block = work->take_scratch(bytes);
  if (!is_launching()) current_stream()->touch(block);
  return {block, bytes};
}

void give_back_scratch(ScratchBlock block) noexcept {
  if (Work* const work = current_work())
    work->give_back_scratch(block.data);
  else
    allocator_of(Device{}).release(block.data, block.bytes);
}

}  // namespace headrace
