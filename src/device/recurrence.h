// Recurrences: launches that come again, in other pieces of work, of which a stream may keep what they put there (see
// Stream::recur()).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace headrace {

// Stands for launches that may come again as long as it lives.
struct Recurrence {};
using RecurrencePtr = std::shared_ptr<const Recurrence>;

// Of all streams, since the process began. Any thread.
struct RecurrenceCounts {
  std::atomic<int64_t> captured{0};  // that streams have kept
  std::atomic<int64_t> replayed{0};  // that they have put down again, the first time not counted
};
RecurrenceCounts& recurrence_counts();

}  // namespace headrace
