# headrace/operators.hpp is made from the catalogue of the library just built. C++ programs that use the public headers
# link headrace_cpp.
set(operators_header "${PROJECT_BINARY_DIR}/include/headrace/operators.hpp")
set(digits_folder "${PROJECT_SOURCE_DIR}/python/headrace/_data/digits")  # what examples and tests learn from

add_executable(generate_operators "${PROJECT_SOURCE_DIR}/tools/generate_operators.cc")
target_link_libraries(generate_operators PRIVATE headrace_internal)
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/include/headrace")
add_custom_command(OUTPUT "${operators_header}"
  COMMAND generate_operators "${operators_header}"
  DEPENDS generate_operators headrace
  COMMENT "Making headrace/operators.hpp from the catalogue" VERBATIM)
add_custom_target(operators_header ALL DEPENDS "${operators_header}")

add_library(headrace_cpp INTERFACE)
target_include_directories(headrace_cpp INTERFACE "${PROJECT_BINARY_DIR}/include")
target_link_libraries(headrace_cpp INTERFACE headrace)
add_dependencies(headrace_cpp operators_header)
