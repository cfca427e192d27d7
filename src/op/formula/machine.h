// The tile machine: carries one program over stretches of one iteration space in one thread. It owns its tiles and
// borrows everything else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "op/formula/iteration.h"
#include "op/formula/program.h"
#include "op/formula/run.h"
#include "op/formula/transfer.h"

namespace headrace {

using Scalars = SmallVector<Program::Scalar, 16>;

// Constants, parameters and what follows from those alone.
Scalars compute_scalars(const Program& program, std::span<const double> parameters);

// Whether writing output number `number` in place would destroy an input that later instructions still read.
bool overwrites_pending_input(const Program& program, std::span<const Operand> inputs, const Operand& output,
                              int number);
// Whether output `output` is there before input `input` has been read for the last time.
inline bool needed_after(const Program& program, size_t input, size_t output) {
  return program.last_use_of_input(static_cast<int>(input)) > program.definition_of_output(static_cast<int>(output));
}

class Machine {
 public:
  // With no outputs given, the program's outputs stay in tiles. Large ones that lie in order are written past the
  // caches. `longest`: the largest n that run_tile will see.
  Machine(const Program& program, const Iteration& iteration, std::span<const Operand> inputs,
          std::span<const Operand> outputs, const Scalars& scalars, int64_t longest);

  // Positions [first, first + n) of the iteration space, n <= kTile unless no operand needs a tile.
  void run_tile(int64_t first, int64_t n);
  // Positions [begin, end), cut into tiles that do not cross long rows.
  void run_range(int64_t begin, int64_t end);

  // The values of output 0 after run_tile.
  const void* result() const noexcept { return slots_[result_slot_]; }

 private:
  static constexpr size_t kInlineBytes = 24 * 1024;
  static constexpr size_t kTilePadding = 128;  // keeps tiles from falling on the same cache sets

  struct Access {
    char* data;
    const int64_t* strides;  // along the dimensions of the iteration
    int64_t item_size;
    int64_t step;  // elements per position, when even
    Load load;
    Store store;
    void* tile;
    uint16_t slot;
    bool even;       // offset = position * step over the whole space
    bool in_place;   // unit steps in the compute type: wherever a stretch is even the kernels work on the memory itself
    bool once;       // the same value everywhere: loaded when the machine is made
    bool stream;     // written past the caches, from the tile
    bool converted;  // between the dtype of the memory and the compute type
  };

  bool run_single(int64_t begin, int64_t end);
  Access access(const Operand& operand, size_t number) const;
  void add_inputs(std::span<const Operand> inputs);
  void add_outputs(std::span<const Operand> inputs, std::span<const Operand> outputs);
  std::byte* take(size_t bytes) noexcept;
  void* take_tile() noexcept { return take(tile_bytes_); }
  char* place_of(const Access& access, int64_t position) const;
  void fetch(const Access& access, int64_t first, int64_t n, bool within_row);
  void* prepare_output(const Access& access, int64_t first, bool within_row) const;
  void put_back(const Access& access, int64_t first, int64_t n, bool within_row);
  static void stream_out(const Access& access, char* memory, int64_t n);
  template <class F>
  void for_each_run(const Access& access, int64_t first, int64_t n, F&& f) const;

  const Program& program_;
  const Iteration& iteration_;
  size_t tile_bytes_;
  SmallVector<Access, 6> inputs_, outputs_;
  uint16_t result_slot_;
  void** slots_ = nullptr;
  std::byte* next_ = nullptr;
  std::unique_ptr<std::byte[]> heap_;
  alignas(64) std::byte inline_[kInlineBytes];
};

}  // namespace headrace
