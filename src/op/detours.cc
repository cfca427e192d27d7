#include "op/detours.h"

#include <mutex>

#include "base/log.h"
#include "engine/runtime.h"

namespace headrace {
namespace {

struct Detours {
  std::mutex mutex;
  std::map<std::string, int64_t> counts;  // guarded by mutex
};

}  // namespace

void count_detour(const OpDef& op, std::string_view how) {
  Detours& all = service<Detours>();
  const std::string detour = fmt::format("{}: {}", op.name, how);
  bool is_first;
  {
    std::lock_guard guard(all.mutex);
    is_first = all.counts[detour]++ == 0;
  }
  if (is_first) log(LogLevel::kWarn, "{}, which is slower; said once", detour);
}

std::map<std::string, int64_t> detours() {
  Detours& all = service<Detours>();
  std::lock_guard guard(all.mutex);
  return all.counts;
}

}  // namespace headrace
