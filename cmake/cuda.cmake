# libheadrace_cuda.so: a plug-in that libheadrace.so loads at run time, so one build serves machines with and without a GPU.
file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/src/backend/cuda/*.cc" "${PROJECT_SOURCE_DIR}/src/backend/cuda/*.cu"
  "${PROJECT_SOURCE_DIR}/src/ops/*_cuda.cc" "${PROJECT_SOURCE_DIR}/src/ops/*_cuda.cu")
if(NOT cuda_sources)
  message(STATUS "HEADRACE_CUDA is on, but this tree has no CUDA sources: nothing is added")
  return()
endif()

enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
set(CMAKE_CUDA_STANDARD 20)
add_library(headrace_cuda MODULE ${cuda_sources})
target_link_libraries(headrace_cuda PRIVATE headrace_internal CUDA::cudart)
set_target_properties(headrace_cuda PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib" CUDA_ARCHITECTURES "80;90;100" INSTALL_RPATH "$ORIGIN")
