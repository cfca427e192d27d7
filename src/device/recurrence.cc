#include "device/recurrence.h"

namespace headrace {

RecurrenceCounts& recurrence_counts() {
  static constinit RecurrenceCounts counts;
  return counts;
}

}  // namespace headrace
