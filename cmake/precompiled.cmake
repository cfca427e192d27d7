# Headers of others that most files read are compiled once. Presets that users get set CMAKE_DISABLE_PRECOMPILE_HEADERS, so
# that there every file of ours proves to include what it uses.
set(standard_headers <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <cstring> <functional> <map> <memory> <mutex>
  <optional> <span> <string> <string_view> <thread> <unordered_map> <utility> <vector> <fmt/format.h>)
target_precompile_headers(headrace PRIVATE ${standard_headers})

# The tests share one set, which the first of them compiles.
function(headrace_precompile_test target)
  get_property(first GLOBAL PROPERTY headrace_first_test)
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    set_property(GLOBAL PROPERTY headrace_first_test ${target})
    target_precompile_headers(${target} PRIVATE ${standard_headers} <gmock/gmock.h> <gtest/gtest.h>)
  endif()
endfunction()
