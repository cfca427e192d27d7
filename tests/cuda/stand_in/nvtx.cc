#include "tests/cuda/stand_in/nvtx.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tests/cuda/stand_in/machine.h"

namespace stand_in {
namespace {

constexpr const char* kDomain = "headrace";
int known_domain = 0;  // what stands for it

struct Ranges {
  std::mutex mutex;
  std::map<std::string, size_t> counts;  // guarded by mutex
};

Ranges& ranges() {
  static Ranges& instance = *new Ranges;
  return instance;
}

thread_local std::vector<std::string> open_ranges;

nvtxDomainHandle_t create_domain(const char* name) {
  return std::string(name) == kDomain ? reinterpret_cast<nvtxDomainHandle_t>(&known_domain) : nullptr;
}

int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  if (event->version != NVTX_VERSION || event->size != NVTX_EVENT_ATTRIB_STRUCT_SIZE ||
      event->messageType != NVTX_MESSAGE_TYPE_ASCII || !event->message.ascii)
    violation("nvtxDomainRangePushEx with an event that has no text");
  if (domain != reinterpret_cast<nvtxDomainHandle_t>(&known_domain)) violation("nvtxDomainRangePushEx of no domain");
  open_ranges.emplace_back(event->message.ascii);
  return static_cast<int>(open_ranges.size()) - 1;
}

int pop(nvtxDomainHandle_t) {
  if (open_ranges.empty()) violation("nvtxDomainRangePop of a range that has not begun");
  {
    const std::lock_guard guard(ranges().mutex);
    ++ranges().counts[open_ranges.back()];
  }
  open_ranges.pop_back();
  return static_cast<int>(open_ranges.size());
}

}  // namespace
}  // namespace stand_in

size_t stand_in_count_ranges(const char* name) {
  const std::lock_guard guard(stand_in::ranges().mutex);
  return stand_in::ranges().counts[name];
}

// What NVTX calls first. It has a table of places for functions.
extern "C" [[gnu::visibility("default")]] int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  const auto* const callbacks = static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable places = nullptr;
  unsigned count = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &places, &count)) return 0;
  const auto set = [&](unsigned which, auto* function) {
    *places[which] = reinterpret_cast<NvtxFunctionPointer>(function);
  };
  set(NVTX_CBID_CORE2_DomainCreateA, stand_in::create_domain);
  set(NVTX_CBID_CORE2_DomainRangePushEx, stand_in::push);
  set(NVTX_CBID_CORE2_DomainRangePop, stand_in::pop);
  return 1;
}

#endif
