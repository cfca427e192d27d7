# With HEADRACE_PRECOMPILE, headers of others that most files read are compiled once. Not for users: g++ 12 gives wrong warnings
# about such headers at -O3, and without it every file of ours proves to include what it uses.
set(standard_headers <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <cstring> <functional> <map> <memory> <mutex>
  <optional> <span> <string> <string_view> <thread> <unordered_map> <utility> <vector> <fmt/format.h>)
if(HEADRACE_PRECOMPILE)
  target_precompile_headers(headrace PRIVATE ${standard_headers})
endif()

# The tests share one set, which the first of them compiles.
function(headrace_precompile_test target)
  if(NOT HEADRACE_PRECOMPILE)
    return()
  endif()
  get_property(first GLOBAL PROPERTY headrace_first_test)
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    set_property(GLOBAL PROPERTY headrace_first_test ${target})
    target_precompile_headers(${target} PRIVATE ${standard_headers} <gmock/gmock.h> <gtest/gtest.h>)
  endif()
endfunction()
