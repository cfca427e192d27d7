// Communicator: moves arrays between the devices of one machine for a store: many to one, reduced, and one to many.
// Values and results have one shape and one dtype, which the store has checked; values are never changed, unless a
// result is the same array.
//
// Belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "kvstore/reduction.h"

namespace headrace::kvstore {

// How much a call writes: more than caches hold, or less.
enum class Extent : uint8_t { kInCache, kBeyondCaches };

class Communicator {
 public:
  virtual ~Communicator() = default;

  // Where the reduction of such values lies, when the stored array is on `stored` now.
  virtual Device home(std::span<const NDArray> values, Device stored) const = 0;
  // Writes the reduction of `values` into `result`, which is at home and none of them.
  virtual void reduce(const Reduction& reduction, std::span<const NDArray> values, const NDArray& result) = 0;
  // Writes `source` into all of `results`. With `keeps`, results keep their values and have no error when that fails.
  virtual void broadcast(const NDArray& source, std::span<const NDArray> results, Extent extent,
                         bool keeps = false) = 0;
  // Both, `stored` being the result that is broadcast.
  virtual void reduce_and_broadcast(const Reduction& reduction, std::span<const NDArray> values,
                                    std::span<const NDArray> results, const NDArray& stored, Extent extent) = 0;
  // Whether what is pushed passes links that are worth compressing for.
  virtual bool compresses() const noexcept = 0;
};

// Reduces in host memory.
std::unique_ptr<Communicator> make_host_communicator();
// Follows plans between the devices of the arrays; reduces what lies in host memory there, unless the options name a
// strategy. Raises as PlanCache does.
std::unique_ptr<Communicator> make_device_communicator(const Options& options);

// Combines values on one device into `result` there, without finishing the reduction. `result` may be the first value,
// and shares memory with no other.
void combine(const Reduction& reduction, std::span<const NDArray> values, const NDArray& result);

bool is_on_host(std::span<const NDArray> arrays) noexcept;

}  // namespace headrace::kvstore
