# How everything of ours is compiled. Targets take it by linking `headrace_flags`.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # A checkout in another folder finds what was compiled here: no object names the folder, nor does ccache's key.
  set(ccache_settings "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}")
  if(HEADRACE_PRECOMPILE)  # the first two and the flag are what ccache asks for then; headers of PCHs are fresh
    list(APPEND ccache_settings CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime)
    add_compile_options(-fpch-preprocess)
  endif()
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env ${ccache_settings}
    "${PROJECT_SOURCE_DIR}/cmake/cached_compile.sh")
endif()
add_compile_options("-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.")
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()

# Every target, ours or not, must be built with the same sanitizers. No error is survivable.
set(headrace_sanitizer_options "")
if(HEADRACE_SANITIZE)
  set(headrace_sanitizer_options -fsanitize=${HEADRACE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HEADRACE_SANITIZE})
  # AddressSanitizer sees null, wild and freed pointers where they are used; to check every step by which one is computed,
  # where it points to in a word and which class lies there as well takes more than half of the time that a file needs to
  # compile. The preset ubsan checks all of it.
  if(HEADRACE_SANITIZE MATCHES "address")
    list(APPEND headrace_sanitizer_options -fno-sanitize=null,pointer-overflow,alignment,vptr)
    add_compile_definitions($<$<CXX_COMPILER_ID:Clang>:__SANITIZE_ADDRESS__>)  # g++ says so by itself
  endif()
  add_compile_options(${headrace_sanitizer_options})
  # The checks that the sanitizers add hide from g++ 12 that variables are set.
  add_compile_options(-Wno-maybe-uninitialized)
endif()

if(HEADRACE_LIBFUZZER AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "HEADRACE_LIBFUZZER needs clang, but the compiler is ${CMAKE_CXX_COMPILER}. `./dev fuzz` installs and uses "
    "clang; or configure with CXX=clang++.")
elseif(HEADRACE_LIBFUZZER)  # it looks at what the code does with its inputs; the targets alone link it
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

add_library(headrace_flags INTERFACE)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Some warnings that are turned off here are g++'s alone, and so is the default of the other.
  add_compile_options(-Wno-unknown-warning-option -fsized-deallocation)
endif()
# Contraction would let the compiler fuse a*b+c in one build of a formula and not in another: results must not depend on it.
# Designated initialisers name what differs from the defaults; -Wrestrict misfires on std::string in g++ 12.
target_compile_options(headrace_flags INTERFACE -Wall -Wextra -Werror -Wno-missing-field-initializers -Wno-restrict
  -ffp-contract=off)
# Calls inside the library stay inside. Its few thread-local bytes of the hot path are found without a call too, by an
# attribute of each: together a third of the cost of a tiny operation. For all of them at once that would not do: those of
# other libraries, which their headers reach, may not be found so where such a library was loaded late.
target_compile_options(headrace_flags INTERFACE -fno-semantic-interposition)
