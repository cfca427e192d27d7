#include "headrace/device.hpp"

#include <charconv>

#include "base/check.h"

namespace headrace {
namespace {

constexpr std::pair<std::string_view, DeviceType> kDeviceNames[] = {{"cpu", DeviceType::kCpu},
                                                                    {"gpu", DeviceType::kGpu},
                                                                    {"cpu_pinned", DeviceType::kCpuPinned},
                                                                    {"cpu_shared", DeviceType::kCpuShared}};

}  // namespace

Device parse_device(std::string_view text) {
  size_t open = text.find('(');
  for (auto [name, type] : kDeviceNames) {
    if (text.substr(0, open) != name) continue;
    Device device{type, 0};
    if (open == std::string_view::npos) return device;
    std::string_view digits = text.substr(open + 1);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), device.id);
    if (error == std::errc{} && device.id >= 0 && std::string_view(end, digits.data() + digits.size()) == ")")
      return device;
  }
  fail(ErrorKind::kValue, "'{}' is no device; write cpu(0), gpu(1), cpu_pinned(0) or cpu_shared(0)", text);
}

std::string to_string(const Device& device) {
  for (auto [name, type] : kDeviceNames)
    if (type == device.type) return fmt::format("{}({})", name, device.id);
  return fmt::format("device type {}({})", static_cast<int>(device.type), device.id);
}

}  // namespace headrace
