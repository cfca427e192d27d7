// Limits: how much a job may ask of its servers; and what of that a server holds.
#pragma once

#include <cstddef>
#include <memory>

#include "headrace/kvstore.hpp"

namespace headrace::distributed {

struct Limits {
  size_t message_bytes = size_t{2047} << 20;  // of a request with its elements, beside what passes by shared memory
  size_t keys = 1'000'000;                    // on one server, of all stores
  size_t held_bytes = 0;  // arrays on one server, pushed ones that wait too; 0: the machine's memory
  size_t unanswered_bytes = size_t{256} << 20;  // of what one worker pushes
};

// What a server holds for its job. Belongs to the thread of the server.
class Holdings {
 public:
  explicit Holdings(const Limits& limits) noexcept;

  struct GiveBack {
    void operator()(Holdings* holdings) const noexcept { holdings->bytes_ -= bytes; }
    size_t bytes = 0;
  };
  // Bytes that are held as long as this is.
  using Hold = std::unique_ptr<Holdings, GiveBack>;

  // Bytes for the array of a key. Raises ValueError, naming the limit, when it would be passed.
  Hold hold(const kvstore::Key& key, size_t bytes);
  // The same for a new key, which counts as one from then on.
  Hold hold_new(const kvstore::Key& key, size_t bytes);

 private:
  const size_t most_keys_, most_bytes_;
  size_t keys_ = 0, bytes_ = 0;
};

}  // namespace headrace::distributed
