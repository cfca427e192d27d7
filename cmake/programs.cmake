# One executable per file: examples/cpp/*.cc see the public headers only, benchmarks/**/*.cc see everything.
function(headrace_programs prefix libraries)
  foreach(source IN LISTS ARGN)
    get_filename_component(name "${source}" NAME_WE)
    add_executable(${prefix}_${name} "${source}")
    target_link_libraries(${prefix}_${name} PRIVATE ${libraries})
    set_target_properties(${prefix}_${name} PROPERTIES
      OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/${prefix}s")
  endforeach()
endfunction()

if(HEADRACE_EXAMPLES)
  file(GLOB example_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/cpp/*.cc")
  headrace_programs(example "headrace;headrace_flags" ${example_sources})
endif()
if(HEADRACE_BENCHMARKS)
  file(GLOB_RECURSE benchmark_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/benchmarks/*.cc")
  headrace_programs(benchmark "headrace_internal" ${benchmark_sources})
endif()
