# With HEADRACE_PRECOMPILE, the headers that most files read are compiled once: a quarter of the time of a build from nothing.
# Without it every file of ours proves to include what it uses, and a change to one of these headers compiles less.
set(standard_headers <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <cstring> <functional> <map> <memory> <mutex>
  <optional> <span> <string> <string_view> <thread> <unordered_map> <utility> <vector> <fmt/format.h>)
# What operators are written with, by far the most files. In angles, so that no path of this folder enters ccache's key.
set(operator_headers <base/check.h> <op/gradient.h> <op/invoke.h> <op/kernel.h> <op/op_def.h> <op/rule.h>)
if(HEADRACE_PRECOMPILE)
  target_precompile_headers(headrace PRIVATE ${standard_headers} ${operator_headers})
endif()

# Of the plug-in for NVIDIA's GPUs, whose files have names of their own in common and are compiled one by one.
function(headrace_precompile_plugin target)
  if(HEADRACE_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${standard_headers} <op/kernel.h> <op/kernel_table.h> <op/launch_cuda.h>)
  endif()
endfunction()

function(headrace_precompile_module target)
  if(HEADRACE_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${standard_headers} <nanobind/nanobind.h>)
  endif()
endfunction()

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
