// Running compiled formulas over arrays. Any thread may call these functions; the caller holds the memory and sees to
// it that nobody else touches it meanwhile. Outputs may be exactly an input's memory; partial overlap is not allowed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "headrace/dtype.hpp"
#include "headrace/shape.hpp"
#include "op/formula/program.h"

namespace headrace {

// An array seen from an iteration space: one stride (in elements) per dimension of the space, 0 where the array is
// broadcast, negative where it runs backwards. Outputs have no zero strides over extents above 1.
struct Operand {
  void* data;
  DType dtype;
  const int64_t* strides;
};

// Computes every output over `space`, on as many threads as the work is worth. The bits do not depend on how many.
// Raises Error(kValue) when the numbers of inputs, outputs or parameters are not the program's.
void run(const Program& program, const Shape& space, std::span<const Operand> inputs, std::span<const Operand> outputs,
         std::span<const double> parameters);

// The same for a few packed elements of the compute type: `data` holds the inputs, then the outputs. Costs little more
// than its kernels. False, with nothing done, when that is not what the call is.
bool run_packed(const Program& program, int64_t count, std::span<void* const> data, std::span<const double> parameters);

// Estimated time of one thread for so many elements.
double cost_ns(const Program& program, int64_t elements);

class Machine;

// Values of output 0 of a program, a stretch at a time, without storing them: what reductions consume. Belongs to one
// thread; the operands' strides and memory must outlive it.
class TileReader {
 public:
  TileReader(const Program& program, const Shape& space, std::span<const Operand> inputs,
             std::span<const double> parameters);
  ~TileReader();
  TileReader(const TileReader&) = delete;
  TileReader& operator=(const TileReader&) = delete;

  // The values at positions [first, first + n) of the space in row-major order, n <= kTile, in the compute type.
  // Valid until the next read.
  const void* read(int64_t first, int64_t n);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headrace
