# libheadrace_cuda.so: a plug-in that libheadrace.so loads at run time, so one build serves machines with and without a GPU. It is
# built where CUDA's headers are found and links nothing of CUDA: driver and compiler are looked up when they are needed.
find_package(CUDAToolkit 12.4 QUIET)
if(NOT CUDAToolkit_FOUND)
  message(STATUS "CUDA's toolkit (12.4 or later) was not found: the plug-in for NVIDIA's GPUs is not built")
  return()
endif()

# What kernels include is part of the plug-in, as text: *.cuh, and headers that they share with the host. The standard's
# headers, which the compiler of kernels lacks, are one.
file(GLOB_RECURSE cuda_texts CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/src/*.cuh")
set(cuda_device_headers
  ${cuda_texts}
  base/half.h
  op/formula/numeric_cast.h
  op/formula/opcode.h
  op/formula/scalar.h
  op/formula/special_functions.cc
  op/formula/special_functions.h
  ops/communication/two_bit_code.h
  ops/detection/box_overlap.h
  ops/detection/region_places.h
  ops/detection/region_taps.h
  ops/random/philox_rounds.h
  ops/random/samplers.h
  ops/nn/hinge.h
  ops/shape/border.h
  ops/sort/key_of.h
  ops/reduce/closeness.h
  ops/spatial/bilinear.h
  ops/spatial/grid_places.h)
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
# Some packages of the toolkit lack cuSOLVER; the host decomposes matrices then.
find_path(HEADRACE_CUSOLVER_INCLUDE cusolverDn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
if(NOT HEADRACE_CUSOLVER_INCLUDE)
  list(FILTER cuda_sources EXCLUDE REGEX "/solver[^/]*[.]cc$")
  list(FILTER cuda_kernels EXCLUDE REGEX "/decompositions_cuda[.]cc$")
endif()
# Every src/ops/FAMILY/NAME_cuda.cc defines add_NAME_cuda(KernelTable&), which is called when the plug-in is used.
set(cuda_declarations "")
set(cuda_calls "")
foreach(path IN LISTS cuda_kernels)
  get_filename_component(name "${path}" NAME_WE)
  if(path MATCHES "/src/ops/")
    string(APPEND cuda_declarations "void add_${name}(KernelTable& table);\n")
    string(APPEND cuda_calls "  add_${name}(table);\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/cuda/add_kernels.cc" @ONLY CONTENT
[[namespace headrace {

class KernelTable;
@cuda_declarations@
void add_cuda_kernels(KernelTable& table) {
@cuda_calls@}

}  // namespace headrace
]])
add_library(headrace_cuda SHARED ${cuda_sources} ${cuda_kernels} "${PROJECT_BINARY_DIR}/cuda/device_headers.cc"
  "${PROJECT_BINARY_DIR}/cuda/add_kernels.cc")
target_include_directories(headrace_cuda SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
target_link_libraries(headrace_cuda PRIVATE headrace_internal ${CMAKE_DL_LIBS})
# At -O3 g++ 12 sees overflows in std::string that are not there when its header was compiled before.
target_compile_options(headrace_cuda PRIVATE -O2)
headrace_precompile_plugin(headrace_cuda)
# Where pip puts the compiler of kernels, cuBLASLt, cuSOLVER, cuDNN and NCCL.
set_target_properties(headrace_cuda PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib"
  INSTALL_RPATH "$ORIGIN;$ORIGIN/../nvidia/cuda_nvrtc/lib;$ORIGIN/../nvidia/cublas/lib;$ORIGIN/../nvidia/cusolver/lib;$ORIGIN/../nvidia/cudnn/lib;$ORIGIN/../nvidia/nccl/lib;$ORIGIN/../nvidia/cu13/lib")
