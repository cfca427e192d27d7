#include "device/cores.h"

namespace headrace {

CoreUse& core_use() noexcept {
  static CoreUse use;
  return use;
}

}  // namespace headrace
