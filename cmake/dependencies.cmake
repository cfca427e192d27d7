# oneDNN, oneTBB and OpenBLAS come from the PyPI packages of the Python that is used, everything else from the system.
if(NOT Python_EXECUTABLE AND EXISTS "${PROJECT_SOURCE_DIR}/.venv/bin/python")
  set(Python_EXECUTABLE "${PROJECT_SOURCE_DIR}/.venv/bin/python")
endif()
if(HEADRACE_PYTHON)
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
else()
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter)
endif()

# Sets `result` to the prefix that a PyPI package is installed in; `marker` is a file of its CMake configuration. In pip's
# isolated build packages lie outside sys.prefix, so the package itself is asked.
function(headrace_find_wheel result distribution marker library requirements)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/cmake/wheel_prefix.py" "${distribution}" "${marker}"
    OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${library} is missing: `${Python_EXECUTABLE} -m pip install ${requirements}`, "
                        "or run `./dev setup`.")
  endif()
  set(${result} "${prefix}" PARENT_SCOPE)
endfunction()
headrace_find_wheel(HEADRACE_WHEEL_PREFIX onednn-devel-cpu-tbb dnnl-config.cmake oneDNN
  "onednn-devel-cpu-tbb==2023.2.0 tbb-devel==2021.13.1 intel-cmplr-lib-rt")
headrace_find_wheel(HEADRACE_OPENBLAS_PREFIX scipy-openblas32 OpenBLASConfig.cmake OpenBLAS scipy-openblas32)
list(PREPEND CMAKE_PREFIX_PATH "${HEADRACE_WHEEL_PREFIX}")

find_package(TBB CONFIG REQUIRED)
find_package(dnnl 3.2 CONFIG REQUIRED)
find_package(OpenBLAS CONFIG REQUIRED PATHS "${HEADRACE_OPENBLAS_PREFIX}" NO_DEFAULT_PATH)  # not the system's
find_package(Threads REQUIRED)

# Finds what the system brings; what is missing is told once, with the names of its Debian packages.
set(headrace_missing)
macro(headrace_find_system name debian_packages)
  find_package(${name} QUIET ${ARGN})
  if(NOT ${name}_FOUND)
    list(APPEND headrace_missing ${debian_packages})
  endif()
endmacro()
headrace_find_system(fmt libfmt-dev)
headrace_find_system(hwy libhwy-dev)
headrace_find_system(nlohmann_json nlohmann-json3-dev)
headrace_find_system(ZLIB zlib1g-dev)
headrace_find_system(PNG libpng-dev)
headrace_find_system(libjpeg-turbo "libturbojpeg0-dev;libjpeg62-turbo-dev" CONFIG)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  headrace_find_system(xbyak libxbyak-dev)
else()
  add_library(xbyak::xbyak INTERFACE IMPORTED)  # of no use there
endif()
if(HEADRACE_TESTS)
  headrace_find_system(GTest "libgtest-dev;libgmock-dev")
endif()
if(HEADRACE_DISTRIBUTED)
  headrace_find_system(Protobuf "libprotobuf-dev;protobuf-compiler")
  headrace_find_system(gRPC "libgrpc++-dev;protobuf-compiler-grpc" CONFIG)
endif()
if(headrace_missing)
  list(JOIN headrace_missing " " headrace_missing)
  message(FATAL_ERROR "Libraries are missing: `apt install ${headrace_missing}`, or run `./dev setup`.")
endif()

# libdnnl needs libimf and libintlc without saying where they are; a library that names all four finds them for it.
find_library(HEADRACE_IMF imf PATHS "${HEADRACE_WHEEL_PREFIX}/lib" NO_DEFAULT_PATH REQUIRED)
find_file(HEADRACE_INTLC libintlc.so.5 PATHS "${HEADRACE_WHEEL_PREFIX}/lib" NO_DEFAULT_PATH REQUIRED)
# libm goes first, so that exp and its like come from it in every process, and never from libimf.
add_library(headrace_onednn INTERFACE)
target_link_libraries(headrace_onednn INTERFACE
  -Wl,--push-state,--no-as-needed m DNNL::dnnl TBB::tbb "${HEADRACE_IMF}" "${HEADRACE_INTLC}" -Wl,--pop-state)
