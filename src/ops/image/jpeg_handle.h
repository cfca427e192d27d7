// What turbojpeg reads and writes with, owned.
#pragma once

#include <turbojpeg.h>

#include <memory>
#include <type_traits>

namespace headrace::codec {

struct DestroyJpegHandle {
  void operator()(void* handle) const noexcept { tjDestroy(handle); }
};
using JpegHandle = std::unique_ptr<std::remove_pointer_t<tjhandle>, DestroyJpegHandle>;

}  // namespace headrace::codec
