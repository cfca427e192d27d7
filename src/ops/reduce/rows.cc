#include "ops/reduce/rows.h"

#include <algorithm>
#include <memory>

#include "backend/cpu/parallel.h"
#include "op/formula/transfer.h"

namespace headrace {
namespace {

constexpr int64_t kColumns = 16;    // neighbouring columns taken together: a cache line of float32
constexpr int64_t kGrain = 1 << 14;  // elements

// One array of the call, seen by one thread.
class RowBuffer {
 public:
  RowBuffer(const AxisSpace& space, const Tensor& tensor, ComputeType type)
      : space_(space),
        tensor_(tensor),
        item_(static_cast<int64_t>(headrace::item_size(tensor.dtype))),
        compute_item_(static_cast<int64_t>(headrace::item_size(type))),
        direct_(space.inner == 1 && tensor.dtype == dtype_of(type)),
        load_(load_function(tensor.dtype, type)),
        store_(store_function(type, tensor.dtype)) {
    if (!direct_) buffer_ = std::make_unique<char[]>(static_cast<size_t>(std::min(space.inner, kColumns) * space.length *
                                                                        compute_item_));
  }

  // Where column c of the block has its row.
  void* row(int64_t first, int64_t c) const noexcept {
    return direct_ ? place(first) : buffer_.get() + c * space_.length * compute_item_;
  }

  void load(int64_t first, int64_t columns) const {
    if (direct_) return;
    if (space_.inner == 1) return load_(buffer_.get(), place(first), 1, space_.length);
    alignas(64) char line[kColumns * 8];
    for (int64_t i = 0; i < space_.length; ++i) {
      load_(line, place(first + i * space_.inner), 1, columns);
      move(line, i, columns, true);
    }
  }

  void store(int64_t first, int64_t columns) const {
    if (direct_) return;
    if (space_.inner == 1) return store_(buffer_.get(), place(first), 1, space_.length);
    alignas(64) char line[kColumns * 8];
    for (int64_t i = 0; i < space_.length; ++i) {
      move(line, i, columns, false);
      store_(line, place(first + i * space_.inner), 1, columns);
    }
  }

 private:
  char* place(int64_t element) const noexcept { return static_cast<char*>(tensor_.data) + element * item_; }

  // Between a line across the columns and element i of each row.
  void move(char* line, int64_t i, int64_t columns, bool into_rows) const noexcept {
    const auto each = [&]<class T>(T* across) {
      T* rows = reinterpret_cast<T*>(buffer_.get()) + i;
      for (int64_t c = 0; c < columns; ++c) {
        if (into_rows) rows[c * space_.length] = across[c];
        else across[c] = rows[c * space_.length];
      }
    };
    if (compute_item_ == 4) each(reinterpret_cast<uint32_t*>(line));
    else each(reinterpret_cast<uint64_t*>(line));
  }

  const AxisSpace& space_;
  const Tensor& tensor_;
  int64_t item_, compute_item_;
  bool direct_;
  Load load_;
  Store store_;
  std::unique_ptr<char[]> buffer_;
};

}  // namespace

void for_each_row(const AxisSpace& space, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                  ComputeType type, double cost_ns, FunctionRef<void(const RowCall&)> f) {
  if (space.outer * space.length * space.inner == 0) return;
  const int64_t width = std::min(space.inner, kColumns), blocks = (space.inner + width - 1) / width;
  const int64_t grain = std::max<int64_t>(1, kGrain / (space.length * width));
  parallel_for(space.outer * blocks, grain, cost_ns, [&](int64_t begin, int64_t end) {
    std::vector<RowBuffer> buffers;
    buffers.reserve(inputs.size() + outputs.size());
    for (const Tensor& tensor : inputs) buffers.emplace_back(space, tensor, type);
    for (const Tensor& tensor : outputs) buffers.emplace_back(space, tensor, type);
    SmallVector<const void*, 4> in(inputs.size());
    SmallVector<void*, 4> out(outputs.size());
    for (int64_t i = begin; i < end; ++i) {
      const int64_t o = i / blocks, column = i % blocks * width, columns = std::min(width, space.inner - column);
      const int64_t first = o * space.length * space.inner + column;
      for (size_t k = 0; k < inputs.size(); ++k) buffers[k].load(first, columns);
      for (int64_t c = 0; c < columns; ++c) {
        for (size_t k = 0; k < inputs.size(); ++k) in[k] = buffers[k].row(first, c);
        for (size_t k = 0; k < outputs.size(); ++k) out[k] = buffers[inputs.size() + k].row(first, c);
        f({o * space.inner + column + c, in, {out.data(), out.size()}});
      }
      for (size_t k = 0; k < outputs.size(); ++k) buffers[inputs.size() + k].store(first, columns);
    }
  });
}

}  // namespace headrace
