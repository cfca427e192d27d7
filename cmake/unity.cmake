# With HEADRACE_UNITY the files of a folder are compiled several at a time, so that their headers are read, and what
# templates make of them is compiled, once for all: half of the time of a build from nothing. Without it a change to one file
# compiles that file alone, and every file proves to include what it uses.
# Names in anonymous namespaces differ within a folder, so that it does not matter which of its files are together.
set(HEADRACE_UNITY_FILES 7 CACHE STRING "Files that HEADRACE_UNITY compiles at once, at most")

# Sets `result` to the group of a source of `folder`, its number among those that are neither alone nor write JSON being
# `number`; to nothing where it is compiled alone: by Highway, which includes a file once for each kind of processor; where
# most of the time goes into kernels; or where g++ 12 at -O3 warns of what is not there when it sees more at once.
function(headrace_unity_group result source folder number)
  set(${result} "" PARENT_SCOPE)
  file(STRINGS "${source}" costly REGEX "hwy/foreach_target\\.h|nlohmann::ordered_json" LIMIT_COUNT 1)
  if(costly MATCHES "json")
    set(${result} json PARENT_SCOPE)  # from all folders: no other template costs as much
  elseif(NOT costly
      AND NOT source MATCHES "_cpu\\.cc$|/ops/index/(gather|indices)\\.cc$|/op/formula/vector_assembler\\.cc$|/src/gluon/")
    string(REPLACE "/" "_" name "${folder}")
    math(EXPR part "${number} / ${HEADRACE_UNITY_FILES}")
    set(${result} "${name}_${part}" PARENT_SCOPE)
  endif()
endfunction()

function(headrace_unite target)
  if(NOT HEADRACE_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(SORT sources)
  set(last_folder)
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
    if(NOT folder STREQUAL last_folder)
      set(last_folder "${folder}")
      set(number 0)
    endif()
    headrace_unity_group(group "${source}" "${folder}" ${number})
    if(group)
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${group})
    endif()
    if(group AND NOT group STREQUAL json)
      math(EXPR number "${number} + 1")
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
