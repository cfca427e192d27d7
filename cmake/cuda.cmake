# libheadrace_cuda.so: a plug-in that libheadrace.so loads at run time, so one build serves machines with and without a GPU. It is
# built where CUDA's headers are found and links nothing of CUDA: driver and compiler are looked up when they are needed.
find_package(CUDAToolkit 12.4 QUIET)
if(NOT CUDAToolkit_FOUND)
  message(STATUS "CUDA's toolkit (12.4 or later) was not found: the plug-in for NVIDIA's GPUs is not built")
  return()
endif()

# What kernels include is part of the plug-in, as text. The standard's headers, which the compiler of kernels lacks, are one.
set(cuda_device_headers
  base/half.h
  op/formula/device/pointwise.cuh
  op/formula/device/std.cuh
  op/formula/numeric_cast.h
  op/formula/opcode.h
  op/formula/scalar.h
  op/formula/special_functions.cc
  op/formula/special_functions.h)
set(cuda_standard_headers bit cmath cstddef cstdint limits numbers numeric string_view type_traits)
set(device_header_table)
foreach(header IN LISTS cuda_device_headers)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${header}")
  file(READ "${PROJECT_SOURCE_DIR}/src/${header}" text)
  string(APPEND device_header_table "    {\"${header}\", R\"source(${text})source\"},\n")
endforeach()
foreach(header IN LISTS cuda_standard_headers)
  string(APPEND device_header_table "    {\"${header}\", \"#include \\\"op/formula/device/std.cuh\\\"\\n\"},\n")
endforeach()
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/cuda/device_headers.cc" @ONLY CONTENT
[[#include <array>

#include "backend/cuda/compiler.h"

namespace headrace {

std::span<const DeviceHeader> device_headers() {
  static constexpr auto kHeaders = std::to_array<DeviceHeader>({
@device_header_table@  });
  return kHeaders;
}

}  // namespace headrace
]])

file(GLOB cuda_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/backend/cuda/*.cc")
file(GLOB_RECURSE cuda_kernels CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/op/*_cuda.cc"
  "${PROJECT_SOURCE_DIR}/src/ops/*_cuda.cc")
add_library(headrace_cuda SHARED ${cuda_sources} ${cuda_kernels} "${PROJECT_BINARY_DIR}/cuda/device_headers.cc")
target_include_directories(headrace_cuda SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
target_link_libraries(headrace_cuda PRIVATE headrace_internal ${CMAKE_DL_LIBS})
# Where pip puts the compiler of kernels.
set_target_properties(headrace_cuda PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib"
  INSTALL_RPATH "$ORIGIN;$ORIGIN/../nvidia/cuda_nvrtc/lib;$ORIGIN/../nvidia/cu13/lib")
