// Communicator: moves arrays for a store, between the devices of this process and between the processes that share the
// store, its ranks. make_store() makes a store over one; the store knows keys, dtypes, buckets, compression and
// updaters, the communicator everything that spans devices or processes.
//
// Stores over several processes are written upon HierarchicalCommunicator: five functions over a library that carries
// messages. docs/kvstore.md has an example.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/kvstore.hpp"

namespace headrace::kvstore {

struct NamedReduction;  // src/kvstore/reduction.h
class UpdateSharing;    // src/kvstore/update_sharing.h

// How arrays become one, two at a time: a name, or a function of the program. Immutable; any thread.
class Reduction {
 public:
  Reduction() : Reduction("sum") {}
  explicit Reduction(std::string_view name);  // raises ValueError that lists the names
  explicit Reduction(Combine combine) : combine_(std::move(combine)) {}

  // "sum", "mean", "max", "min"; "custom" for a function.
  std::string_view name() const noexcept;
  // It sums, and may divide the sum: what is left out of one array can be made up for in a later one.
  bool is_linear() const noexcept;
  // The combination is divided by the number of arrays: finish() has something to do.
  bool divides() const noexcept;
  // What combines in the same way and does not divide.
  Reduction undivided() const;
  // Raises TypeError when arrays of this dtype cannot be reduced.
  void check_dtype(DType dtype) const;

  // target = target (.) source, of one shape and dtype, on the device of both. An operation of the engine.
  void combine_into(const NDArray& target, const NDArray& source) const;
  // Does what remains to be done with the combination of so many arrays.
  void finish(const NDArray& target, size_t count) const;

  const NamedReduction* named() const noexcept { return named_; }  // null for a function

 private:
  const NamedReduction* named_ = nullptr;
  Combine combine_;
};

// How much a call writes: more than caches hold, or less.
enum class Extent : uint8_t { kInCache, kBeyondCaches };

// Arrays of a call have one shape and one dtype, which the store has checked, and are on devices of this process.
// Values are never changed, unless a result is the same array. What depends on arrays may run later, as operations of
// the engine do. Belongs to one thread at a time, which need not be the one that made it.
class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  virtual int rank() const noexcept = 0;  // of this process
  virtual int size() const noexcept = 0;  // number of ranks; the same from the first call on
  // What the collective calls that follow are about: those about different things may be made in another order on each
  // rank, where the library between the ranks can tell them apart.
  virtual void set_topic(const std::string& /*topic*/) {}
  // KVStore::agree_in(), about the topic.
  virtual void agree_in(const std::string& /*what*/) {}
  // Waits until all ranks have come here.
  virtual void barrier() = 0;
  // KVStore::others_go_on().
  virtual bool others_go_on() { return false; }
  // Writes what rank 0 has in `value` into that of every rank. Collective.
  virtual void broadcast_root(const NDArray& value) = 0;

  // Where the reduction of such values lies, when the stored array is on `stored` now.
  virtual Device home(std::span<const NDArray> values, Device stored) const = 0;
  // Writes the reduction of the `values` of all ranks into `result`, which is at home and none of them; the bits are
  // the same on all ranks and in every run. A mean is that of all these values, however many each rank has. Collective.
  virtual void reduce(const Reduction& reduction, std::span<const NDArray> values, const NDArray& result) = 0;
  // Writes `source` into all of `results`, in this process. With `keeps`, results keep their values and have no error
  // when that fails.
  virtual void broadcast(const NDArray& source, std::span<const NDArray> results, Extent extent,
                         bool keeps = false) = 0;
  // Both, `stored` being the result that is broadcast.
  virtual void reduce_and_broadcast(const Reduction& reduction, std::span<const NDArray> values,
                                    std::span<const NDArray> results, const NDArray& stored, Extent extent) = 0;
  // The row_sparse arrays of all ranks, in host memory, in the order of the ranks. Waits. Collective. Raises
  // RuntimeError where ranks exchange dense arrays alone.
  virtual std::vector<NDArray> gather_rows(const NDArray& rows);
  // Whether what is pushed passes links that are worth compressing for.
  virtual bool compresses() const noexcept = 0;
  // Null: every rank updates all arrays.
  virtual UpdateSharing* sharing() noexcept { return nullptr; }
};

// Within one process, rank 0 of 1. In host memory:
std::unique_ptr<Communicator> make_host_communicator();
// By plans between the devices of the arrays; what lies in host memory is reduced there, unless the options name a
// strategy. Raises ValueError for an unknown strategy or a malformed topology, OSError for a file that cannot be read.
std::unique_ptr<Communicator> make_device_communicator(const Options& options = {});

// Reduces between the devices of each process first, then between the ranks: links between processes carry each array
// once. A subclass has the part between the ranks: rank, size, barrier, broadcast_root, allreduce.
class HierarchicalCommunicator : public Communicator {
 public:
  // `devices`: within this process. Raises ValueError when it is none.
  explicit HierarchicalCommunicator(std::unique_ptr<Communicator> devices);

  Device home(std::span<const NDArray> values, Device stored) const override;
  // A mean exchanges the number of values first, and waits for it.
  void reduce(const Reduction& reduction, std::span<const NDArray> values, const NDArray& result) override;
  void broadcast(const NDArray& source, std::span<const NDArray> results, Extent extent, bool keeps) override;
  void reduce_and_broadcast(const Reduction& reduction, std::span<const NDArray> values,
                            std::span<const NDArray> results, const NDArray& stored, Extent extent) override;
  bool compresses() const noexcept override;

 protected:
  // Writes the combination of what all ranks have in `value`, by a reduction that does not divide, into that of every
  // rank. The order of the ranks in it is the same in every run. Called where size() > 1.
  virtual void allreduce(const Reduction& reduction, const NDArray& value) = 0;

  // What is done within this process; `result` is at home.
  void reduce_here(const Reduction& undivided, std::span<const NDArray> values, const NDArray& result);
  // How many arrays a reduction of so many here has; waits for those of other ranks where it divides by their number.
  size_t count_of(const Reduction& reduction, size_t own);

 private:
  const std::unique_ptr<Communicator> devices_;
};

// A store over a communicator; `type` is the name of its kind. Raises ValueError when the communicator is none.
std::unique_ptr<KVStore> make_store(std::string type, std::unique_ptr<Communicator> communicator);

}  // namespace headrace::kvstore
