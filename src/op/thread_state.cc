#include "op/thread_state.h"

namespace headrace::detail {

constinit thread_local ThreadState thread_state;

}  // namespace headrace::detail
