// An accelerator of this process and one of each other process of a group, its ranks, that exchange arrays by a library
// of their vendor's. Used by the thread of the group but for what says otherwise. Nothing here waits for another rank,
// nor for the device but where a call has failed.
#pragma once

#include <memory>
#include <string>

#include "device/gang.h"

namespace headrace {

class RankGang {
 public:
  // A call that was begun: of those who wait for it on the device. The last of them lets go when it is complete.
  class Call {
   public:
    virtual ~Call() = default;
  };
  using CallPtr = std::shared_ptr<const Call>;

  virtual ~RankGang() = default;

  // These three: any thread.
  virtual Device device() const noexcept = 0;
  virtual bool knows(DType dtype) const noexcept = 0;
  // The same text for the same device in any process, and for no other device of any machine.
  virtual const std::string& identity() const noexcept = 0;

  // Where the ranks meet, which one of them makes and tells the others. Any thread. Raises Error(kRuntime).
  virtual std::string make_meeting_point() = 0;
  // Begins to connect the ranks. Once. Raises Error(kRuntime).
  virtual void connect(const std::string& meeting_point, int rank, int size) = 0;
  // Begins a call, the same one in the same order on all ranks, when has_happened() for what came before. The block has
  // its values, and stays until the call is complete. Raises Error(kRuntime), also for all that comes after a failure.
  virtual CallPtr begin(const GangTask& task, void* block) = 0;
  // Begins to leave the others, behind the last call, when is_idle(). Nothing comes after it.
  virtual void leave() noexcept = 0;
  // Whether the last of these was done. Raises Error(kRuntime) where that cannot be, or takes too long.
  virtual bool has_happened() = 0;

  // Whether all calls that were begun are complete, and nobody waits for them. Any thread.
  virtual bool is_idle() const noexcept = 0;
  // Why no call can succeed any more; empty: they can. Any thread.
  virtual std::string trouble() noexcept = 0;
  // Because of this no call succeeds any more: what waits for one fails, and the device no longer waits for other
  // ranks. When it returns, calls that were begun touch their blocks no more. Any thread.
  virtual void abort(const std::string& why) noexcept = 0;

  // On which work is launched that waits for calls.
  virtual Stream& stream() noexcept = 0;
  // For work that is being launched on stream(): what follows comes behind the call. The thread that launches. Raises
  // Error(kRuntime) where the call does not succeed; later that fails the work.
  virtual void await(const CallPtr& call) = 0;
};

}  // namespace headrace
