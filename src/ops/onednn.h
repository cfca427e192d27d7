// What every user of oneDNN shares: the engine, a stream per thread and a bounded cache of prepared primitives.
// Primitives, memory objects and argument maps are kept per thread and per problem, because making them costs more than
// many a run of them. Any thread.
#pragma once

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "op/kernel.h"
#include "op/op_def.h"

namespace headrace::onednn {

// Everything that distinguishes one problem from another. oneDNN lays out the work for the number of threads that it
// sees when a primitive is made, so that number is always a part.
using Key = SmallVector<int64_t, 24>;

struct KeyHash {
  size_t operator()(const Key& key) const noexcept;
};

// float32 for what oneDNN does not compute with.
dnnl::memory::data_type type_of(DType dtype) noexcept;

dnnl::engine& cpu_engine();
// Whether the library uses all instructions of this set.
bool has_instructions(dnnl::cpu_isa set);
// What is made later goes earlier at exit: called after the library has made tables of its own for a kind of primitive,
// this lets tasks end while they live.
void end_tasks_before_what_is_there();
dnnl::stream& thread_stream();

// One array of a primitive: as it is given, and in the layout that the primitive wants. The two are the same memory
// where they agree; otherwise a reorder through workspace lies between them.
class Operand {
 public:
  Operand() = default;
  // `factor`: what the elements of an input are multiplied with on the way.
  Operand(const dnnl::memory::desc& given, const dnnl::memory::desc& wanted, bool is_written, float factor = 1);

  // What the primitive gets as its argument.
  const dnnl::memory& argument() const noexcept { return wanted_; }
  // Before the primitive runs. With the storage of an input, its reordered copy is kept there for later runs.
  void begin(KernelContext& context, dnnl::stream& stream, void* data, Storage* storage = nullptr);
  // As begin(), but only where nothing has to be reordered or a kept copy serves; gives whether that is so.
  bool begin_kept(dnnl::stream& stream, void* data, Storage* storage);
  // After it.
  void end(dnnl::stream& stream);

 private:
  void reorder_input(dnnl::stream& stream);

  dnnl::memory given_, wanted_, factor_;  // without handle, where there is no factor
  dnnl::reorder reorder_;
  size_t bytes_ = 0;  // of what is reordered; 0: nothing
  std::string name_;  // of the two layouts; empty when there is none, so that no copy is kept
  bool is_written_ = false;
};

// An array with these strides. Nothing when oneDNN cannot describe it: steps of zero or backwards, elements that
// overlap.
std::optional<dnnl::memory::desc> describe(const Shape& shape, const Strides& strides, DType dtype);

// What one thread has prepared; a null entry is a problem for which oneDNN has no implementation. Bounded: a program
// with ever new shapes must not grow for ever.
template <class Prepared>
class ThreadCache {
 public:
  // `make` gives a std::unique_ptr<Prepared>. Valid until the next call.
  template <class Make>
  Prepared* get(Key key, Make&& make) {
    if (auto found = known_.find(key); found != known_.end()) return found->second.get();
    if (known_.size() >= kMost) known_.clear();
    auto made = make();
    static const bool kIsFirst = (end_tasks_before_what_is_there(), true);  // of this kind of primitive
    static_cast<void>(kIsFirst);
    return known_.emplace(std::move(key), std::move(made)).first->second.get();
  }

 private:
  static constexpr size_t kMost = 512;
  std::unordered_map<Key, std::unique_ptr<Prepared>, KeyHash> known_;
};

}  // namespace headrace::onednn
