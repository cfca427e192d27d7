#include "op/call_group.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/spin_lock.h"
#include "device/stream.h"
#include "engine/runtime.h"
#include "op/call_body.h"
#include "op/fused.h"
#include "timeline/timeline.h"

namespace headrace {
namespace {

const CallBody& call_of(const void* body) noexcept { return *static_cast<const CallBody*>(body); }

const View& result_of(const CallBody& call) noexcept { return *call.views.views()[call.input_count]; }

using Calls = std::span<void* const>;

// Whether two calls touch one storage in a way that a single pass over both could get wrong.
bool interfere(const CallBody& earlier, const CallBody& later) noexcept {
  for (const View* a : earlier.views.views())
    for (const View* b : later.views.views())
      if (a->storage() == b->storage() && (a == &result_of(earlier) || b == &result_of(later)) &&
          !same_elements(*a, *b))
        return true;
  return false;
}

size_t count_parameters(const CallBody& call) noexcept { return call.op->pointwise->parameter_offsets.size(); }

bool can_lead(const void* body) noexcept { return is_fusible(*call_of(body).op) && runtime().config.fusion; }

bool can_join(Calls group, const void* body) noexcept {
  const CallBody &next = call_of(body), &lead = call_of(group[0]);
  if (!is_fusible(*next.op) || next.ticket != lead.ticket || result_of(next).shape() != result_of(lead).shape())
    return false;
  size_t arrays = 0, parameters = count_parameters(next);
  std::array<const View*, kMostFusedArrays> seen;
  const auto has_room = [&](const CallBody& call) {
    for (const View* view : call.views.views()) {
      const std::span<const View*> known(seen.data(), arrays);
      if (std::ranges::any_of(known, [&](const View* other) { return same_elements(*view, *other); })) continue;
      if (arrays == seen.size()) return false;
      seen[arrays++] = view;
    }
    return true;
  };
  for (const void* other : group) {
    if (!has_room(call_of(other)) || interfere(call_of(other), next)) return false;
    parameters += count_parameters(call_of(other));
  }
  return has_room(next) && parameters <= kMostFusedParameters;
}

// --- the fused operators that are known ------------------------------------------------------------------------------

// A group without its arrays: operators, how they feed each other, what is stored.
using Key = std::vector<uint64_t>;

struct KeyHash {
  size_t operator()(const Key& key) const noexcept {
    uint64_t hash = key.size();
    for (uint64_t word : key) hash = (hash ^ word) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29;
    return static_cast<size_t>(hash);
  }
};

struct FusedCall {
  std::shared_ptr<const OpDef> op;
  const char* name;
};

// Any thread.
class KnownCalls {
 public:
  template <class Make>
  FusedCall find(const Key& key, const Make& make) {
    {
      std::lock_guard guard(lock_);
      if (const auto known = calls_.find(key); known != calls_.end()) return known->second;
    }
    FusedCall made = make();
    std::lock_guard guard(lock_);
    if (calls_.size() >= kMost) calls_.clear();
    calls_.emplace(key, made);
    return made;
  }

 private:
  static constexpr size_t kMost = 1024;  // a program has few; one that makes ever new ones must not fill the memory

  SpinLock lock_;
  std::unordered_map<Key, FusedCall, KeyHash> calls_;  // guarded by lock_
};

// --- one group -------------------------------------------------------------------------------------------------------

class CallGroup {
 public:
  explicit CallGroup(Calls calls) : calls_(calls) {
    for (const void* body : calls) add(call_of(body));
    for (Place& place : places_)
      if (place.is_written && is_visible(*place.view)) {
        outputs_.push_back(place.view);
        stored_.push_back(place.array);
        key_.push_back(static_cast<uint64_t>(place.array));
      }
  }

  const char* run() {
    if (outputs_.empty()) return timeline::intern("unused");
    const FusedCall fused = service<KnownCalls>().find(key_, [this] { return make(); });
    const AttrsPtr attrs = fused_attrs({parameters_.data(), parameters_.size()});
    if (is_launching()) current_work()->hold(fused.op);   // device code may run when it is no longer known
    for (View* view : outputs_) view->storage()->data();  // what can fail comes before anything is written
    run_call(*fused.op, *attrs, {inputs_.data(), inputs_.size()}, {outputs_.data(), outputs_.size()},
             call_of(calls_[0]).ticket);
    return fused.name;
  }

 private:
  // Elements in memory, and the array (as FusedBuilder numbers them) whose values they have after the calls so far.
  struct Place {
    View* view;
    int array;
    bool is_written;
  };

  Place* find(const View& view) {
    const auto found = std::ranges::find_if(places_, [&](const Place& p) { return same_elements(*p.view, view); });
    return found == places_.end() ? nullptr : &*found;
  }

  void add(const CallBody& call) {
    const std::span<View* const> views = call.views.views();
    View* const result = views[call.input_count];
    key_.push_back(reinterpret_cast<uintptr_t>(call.op));
    key_.push_back(static_cast<uint64_t>(result->dtype()) << 32 | call.input_count);
    for (View* view : views.first(call.input_count)) {
      Place* place = find(*view);
      if (!place) {
        inputs_.push_back(view);
        places_.push_back({view, arrays_++, false});
        place = places_.end() - 1;
      }
      arguments_.push_back(place->array);
      key_.push_back(static_cast<uint64_t>(place->array));
    }
    if (Place* place = find(*result)) {
      place->array = arrays_++;
      place->is_written = true;
    } else {
      places_.push_back({result, arrays_++, true});
    }
    append_parameters(*call.op->pointwise, *call.attrs, parameters_);
  }

  // Whether anything but the calls of this group can reach the memory. Nobody can begin to: only these calls, which are
  // ours, could pass their references on.
  bool is_visible(const View& written) const {
    const Storage& storage = *written.storage();
    if (storage.is_borrowed()) return true;
    struct Count {
      const View* view;
      uint32_t references;
    };
    SmallVector<Count, 4> counts;
    for (const void* body : calls_) {
      for (const View* view : call_of(body).views.views()) {
        if (view->storage() != &storage) continue;
        const auto known = std::ranges::find(counts, view, &Count::view);
        if (known != counts.end())
          ++known->references;
        else
          counts.push_back({view, 1});
      }
    }
    return storage.reference_count() != counts.size() || std::ranges::any_of(counts, [](const Count& count) {
             return count.view->reference_count() != count.references;
           });
  }

  FusedCall make() const {
    FusedBuilder builder;
    std::string name = "fused";
    int known = 0;
    const int* next = arguments_.begin();
    for (const void* body : calls_) {
      const CallBody& call = call_of(body);
      const std::span<const int> arguments(next, call.input_count);
      next += call.input_count;
      for (int array : arguments)
        if (array == known) known = builder.add_input() + 1;
      known = builder.add(*call.op, arguments, result_of(call).dtype()) + 1;
      name += (body == calls_[0] ? " " : ", ") + call.op->name;
    }
    for (int array : stored_) builder.store(array);
    return {builder.make(), timeline::intern(name)};
  }

  const Calls calls_;
  int arrays_ = 0;
  SmallVector<Place, kMostFusedArrays> places_;
  SmallVector<View*, 8> inputs_, outputs_;
  SmallVector<int, 16> stored_, arguments_;
  SmallVector<double, 8> parameters_;
  Key key_;
};

}  // namespace

constinit const GroupType kCallGroup = {
    .can_lead = can_lead,
    .can_join = can_join,
    .run = [](Calls calls) { return CallGroup(calls).run(); },
};

}  // namespace headrace
