#include "ops/reduce/rows.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "backend/cpu/parallel.h"
#include "op/formula/transfer.h"
#include "op/kernel.h"

namespace headrace {
namespace {

constexpr int64_t kColumns = 16;     // neighbouring columns taken together: a cache line of float32
constexpr int64_t kGrain = 1 << 14;  // elements

// One array of the call, seen by one thread.
class RowBuffer {
 public:
  RowBuffer(const RowArray& array, int64_t inner)
      : data_(array.tensor.as<char>()),
        length_(array.length),
        inner_(inner),
        item_(static_cast<int64_t>(headrace::item_size(array.tensor.dtype))),
        compute_item_(static_cast<int64_t>(headrace::item_size(array.type))),
        direct_(inner == 1 && array.tensor.dtype == dtype_of(array.type)),
        load_(load_function(array.tensor.dtype, array.type)),
        store_(store_function(array.type, array.tensor.dtype)) {
    if (!direct_)
      buffer_ = std::make_unique<char[]>(static_cast<size_t>(std::min(inner, kColumns) * length_ * compute_item_));
  }

  // Where column c of the block that starts at (outer, column) has its row.
  void* row(int64_t outer, int64_t c) const noexcept {
    return direct_ ? place(outer * length_) : buffer_.get() + c * length_ * compute_item_;
  }

  void load(int64_t outer, int64_t column, int64_t columns) const {
    if (direct_) return;
    const int64_t first = outer * length_ * inner_ + column;
    if (inner_ == 1) return load_(buffer_.get(), place(first), 1, length_);
    alignas(64) char line[kColumns * 8];
    for (int64_t i = 0; i < length_; ++i) {
      load_(line, place(first + i * inner_), 1, columns);
      move(line, i, columns, true);
    }
  }

  void store(int64_t outer, int64_t column, int64_t columns) const {
    if (direct_) return;
    const int64_t first = outer * length_ * inner_ + column;
    if (inner_ == 1) return store_(buffer_.get(), place(first), 1, length_);
    alignas(64) char line[kColumns * 8];
    for (int64_t i = 0; i < length_; ++i) {
      move(line, i, columns, false);
      store_(line, place(first + i * inner_), 1, columns);
    }
  }

 private:
  char* place(int64_t element) const noexcept { return data_ + element * item_; }

  // Between a line across the columns and element i of each row.
  void move(char* line, int64_t i, int64_t columns, bool into_rows) const noexcept {
    const auto each = [&]<class T>(T* across) {
      T* rows = reinterpret_cast<T*>(buffer_.get()) + i;
      for (int64_t c = 0; c < columns; ++c) {
        if (into_rows)
          rows[c * length_] = across[c];
        else
          across[c] = rows[c * length_];
      }
    };
    if (compute_item_ == 4)
      each(reinterpret_cast<uint32_t*>(line));
    else
      each(reinterpret_cast<uint64_t*>(line));
  }

  char* data_;
  int64_t length_, inner_, item_, compute_item_;
  bool direct_;
  Load load_;
  Store store_;
  std::unique_ptr<char[]> buffer_;
};

}  // namespace

void for_each_row(int64_t outer, int64_t inner, std::span<const RowArray> inputs, std::span<const RowArray> outputs,
                  int64_t work, double cost_ns, FunctionRef<void(const RowCall&)> f) {
  if (outer * inner == 0) return;
  const int64_t width = std::min(inner, kColumns), blocks = (inner + width - 1) / width;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work * width));
  parallel_for(outer * blocks, grain, cost_ns, [&](int64_t begin, int64_t end) {
    std::vector<RowBuffer> buffers;
    buffers.reserve(inputs.size() + outputs.size());
    for (const RowArray& array : inputs) buffers.emplace_back(array, inner);
    for (const RowArray& array : outputs) buffers.emplace_back(array, inner);
    SmallVector<const void*, 4> in(inputs.size());
    SmallVector<void*, 4> out(outputs.size());
    for (int64_t i = begin; i < end; ++i) {
      const int64_t o = i / blocks, column = i % blocks * width, columns = std::min(width, inner - column);
      for (size_t k = 0; k < inputs.size(); ++k) buffers[k].load(o, column, columns);
      for (int64_t c = 0; c < columns; ++c) {
        for (size_t k = 0; k < inputs.size(); ++k) in[k] = buffers[k].row(o, c);
        for (size_t k = 0; k < outputs.size(); ++k) out[k] = buffers[inputs.size() + k].row(o, c);
        f({o * inner + column + c, in, {out.data(), out.size()}});
      }
      for (size_t k = 0; k < outputs.size(); ++k) buffers[inputs.size() + k].store(o, column, columns);
    }
  });
}

void for_each_row(const AxisSpace& space, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                  ComputeType type, double cost_ns, FunctionRef<void(const RowCall&)> f) {
  if (space.length == 0) return;
  std::vector<RowArray> in, out;
  for (const Tensor& tensor : inputs) in.push_back({tensor, type, space.length});
  for (const Tensor& tensor : outputs) out.push_back({tensor, type, space.length});
  for_each_row(space.outer, space.inner, in, out, space.length, cost_ns, f);
}

}  // namespace headrace
