#include "op/detours.h"

#include <algorithm>
#include <mutex>

#include "base/log.h"
#include "device/registry.h"
#include "engine/runtime.h"
#include "op/catalogue.h"
#include "op/kernel_table.h"

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

std::vector<std::string> operators_on_host(DeviceType type) {
  std::vector<std::string> names;
  const KernelTable* const table = kernels_of(type);
  for (const OpDef& op : catalogue().all())
    if (table && table->is_on_host(op)) names.push_back(op.name);
  std::ranges::sort(names);
  return names;
}

}  // namespace headrace
