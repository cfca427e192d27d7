// CallBody: what a queued operation owns: the operator, its attributes and the views it touches, inputs first.
// Holding views, not arrays, it never keeps a tape alive.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "headrace/ndarray.hpp"
#include "ndarray/view.h"
#include "op/attrs.h"
#include "op/call_group.h"

namespace headrace {

struct OpDef;

class ViewList {
 public:
  ViewList() noexcept = default;
  ViewList(ViewList&& other) noexcept : count_(std::exchange(other.count_, 0)), heap_(std::move(other.heap_)) {
    for (size_t i = 0; i < kInline; ++i) inline_[i] = std::exchange(other.inline_[i], nullptr);
  }
  ViewList& operator=(ViewList&&) = delete;
  ~ViewList() {
    for (View* view : views()) release_reference(view);
  }
  void reserve(size_t count) {
    if (count > kInline) heap_ = std::make_unique<View*[]>(count);
  }
  // At most as many as reserved.
  void add(View* view) noexcept {
    add_reference(view);
    data()[count_++] = view;
  }
  std::span<View* const> views() const noexcept { return {heap_ ? heap_.get() : inline_, count_}; }

 private:
  static constexpr size_t kInline = 5;
  View** data() noexcept { return heap_ ? heap_.get() : inline_; }

  size_t count_ = 0;
  View* inline_[kInline] = {};
  std::unique_ptr<View*[]> heap_;
};

// Whether two views are the same elements of one storage in the same order.
inline bool same_elements(const View& a, const View& b) noexcept {
  return &a == &b || (a.storage() == b.storage() && a.offset() == b.offset() && a.dtype() == b.dtype() &&
                      a.shape() == b.shape() && a.strides() == b.strides());
}

// What a task does before it writes `outputs`. With `replaces`, those that no input shares a storage with are written
// as a whole, or not needed any more when the operation fails.
void begin_writes(std::span<View* const> inputs, std::span<View* const> outputs, bool replaces);

// The same for the inputs that `op` changes in place.
void begin_mutations(const OpDef& op, std::span<View* const> inputs);

// Computes the outputs, in a task that holds access to all storages; while work is launched, has the device compute
// them later.
void run_call(const OpDef& op, const Attrs& attrs, std::span<View* const> inputs, std::span<View* const> outputs,
              uint64_t ticket);

// The same, in this thread and with the host's code.
void compute_call(const OpDef& op, const Attrs& attrs, std::span<View* const> inputs, std::span<View* const> outputs,
                  uint64_t ticket);

// Of the elements of all views.
double total_bytes(std::span<View* const> views) noexcept;
// Estimated nanoseconds on one core of an operation that streams these arrays and says no more.
double streaming_cost_ns(std::span<View* const> views) noexcept;

struct CallBody {
  static constexpr const GroupType& kGroup = kCallGroup;

  CallBody(const OpDef& of, const Attrs& with, std::span<View* const> inputs, std::span<View* const> outputs,
           uint64_t drawn)
      : op(&of), attrs(&with), input_count(static_cast<uint32_t>(inputs.size())), ticket(drawn) {
    views.reserve(inputs.size() + outputs.size());
    for (View* view : inputs) views.add(view);
    for (View* view : outputs) views.add(view);
  }

  const OpDef* op;
  AttrsPtr attrs;
  ViewList views;
  uint32_t input_count;
  uint64_t ticket;

  void operator()() const {
    const std::span<View* const> all = views.views();
    run_call(*op, *attrs, all.first(input_count), all.subspan(input_count), ticket);
  }
};

}  // namespace headrace
