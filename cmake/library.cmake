# libheadrace.so: all of src/ but the CUDA plug-in.
file(GLOB_RECURSE library_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.cc")
list(FILTER library_sources EXCLUDE REGEX "/src/backend/cuda/|_cuda\\.cc$|/src/distributed/|/src/collective/mpi/")
if(HEADRACE_LAYERS)
  string(REPLACE ";" "|" layers_regex "${HEADRACE_LAYERS}")
  list(FILTER library_sources INCLUDE REGEX "/src/(${layers_regex})/")
endif()

add_library(headrace SHARED ${library_sources})
headrace_unite(headrace)
target_include_directories(headrace
  PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
  PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_compile_features(headrace INTERFACE cxx_std_20)
target_link_libraries(headrace PRIVATE headrace_flags fmt::fmt hwy::hwy hwy::hwy_contrib headrace_onednn OpenBLAS::OpenBLAS
  nlohmann_json::nlohmann_json xbyak::xbyak ZLIB::ZLIB PNG::PNG libjpeg-turbo::turbojpeg Threads::Threads ${CMAKE_DL_LIBS})
target_link_options(headrace PRIVATE -Wl,-Bsymbolic-functions -Wl,-z,nodelete)
set_target_properties(headrace PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

# What a program needs that looks inside: the tests, the benchmarks and the Python module.
add_library(headrace_internal INTERFACE)
target_include_directories(headrace_internal INTERFACE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
target_link_libraries(headrace_internal INTERFACE headrace headrace_flags fmt::fmt hwy::hwy headrace_onednn ZLIB::ZLIB
  Threads::Threads)
