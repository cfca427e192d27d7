#include "collective/process_group.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "collective/distributed_library.h"
#include "collective/mpi_library.h"
#include "engine/runtime.h"
#include "headrace/distributed.hpp"

namespace headrace::collective {
namespace {

// The wire of a process that is alone: nothing has to be moved.
class LoneWire final : public Wire {
 public:
  int rank() const noexcept override { return 0; }
  int size() const noexcept override { return 1; }
  const Machines& machines() const noexcept override { return machines_; }

  TransferPtr scatter(Lane, const std::byte*, std::span<const size_t>, std::byte*) override { return done(); }
  TransferPtr gather(Lane, std::byte*, std::span<const size_t>) override { return done(); }
  TransferPtr broadcast(std::byte*, size_t, int) override { return done(); }
  void abort(const std::string&) override { std::_Exit(1); }

 private:
  struct Done final : Transfer {
    bool is_done() override { return true; }
  };
  static TransferPtr done() { return std::make_unique<Done>(); }

  const Machines machines_{{0}, 0};
};

struct Membership {
  std::mutex mutex;
  std::atomic<Group*> group{nullptr};
};

Membership& membership() { return service<Membership>(); }

// How the wire of this process is made.
Group::Open open() {
  const distributed::Role role = distributed::role_of_process();
  check(role == distributed::Role::kNone || role == distributed::Role::kWorker, ErrorKind::kRuntime,
        "distributed: this process is a server or scheduler of its job (DMLC_ROLE); its workers exchange arrays");
  if (role == distributed::Role::kWorker) {  // in this thread, which may be interrupted while it waits for others
    const auto wire = std::make_shared<std::unique_ptr<Wire>>(distributed_library().open_wire());
    return [wire] { return std::move(*wire); };
  }
  if (is_started_by_mpi()) return mpi_library().open;
  return [] { return std::unique_ptr<Wire>(std::make_unique<LoneWire>()); };
}

}  // namespace

// Left before the libraries below end.
Group& process_group() {
  Membership& own = membership();
  if (Group* const known = own.group.load(std::memory_order_acquire)) return *known;
  std::lock_guard guard(own.mutex);
  if (!own.group) {
    runtime();
    own.group = new Group(open());
    std::atexit([] { leave_process_group(); });
  }
  return *own.group;
}

bool has_process_group() noexcept { return membership().group.load() != nullptr; }

void leave_process_group(std::optional<std::string> failure) {
  Group* const known = membership().group.load();
  if (!known) return;
  std::optional<CallFailure> reason;
  if (failure) reason = CallFailure{ErrorKind::kRuntime, std::move(*failure)};
  known->end(std::move(reason));
}

}  // namespace headrace::collective
