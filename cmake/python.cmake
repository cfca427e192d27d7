# The extension module. <build>/python is an importable package: links to python/headrace beside the module built here.
execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

set(package_source "${PROJECT_SOURCE_DIR}/python/headrace")
set(package_build "${PROJECT_BINARY_DIR}/python/headrace")
file(GLOB module_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/src/*.cc")
nanobind_add_module(_core NB_STATIC ${module_sources})
target_link_libraries(_core PRIVATE headrace_internal)
headrace_precompile_module(_core)
headrace_unite(_core)
target_compile_definitions(_core PRIVATE HEADRACE_VERSION="${PROJECT_VERSION}")
# Inline variables and schemas are one with the library's.
set_target_properties(_core PROPERTIES CXX_VISIBILITY_PRESET default VISIBILITY_INLINES_HIDDEN OFF)
set_target_properties(_core PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${package_build}")

file(GLOB package_entries CONFIGURE_DEPENDS LIST_DIRECTORIES true RELATIVE "${package_source}" "${package_source}/*")
list(FILTER package_entries EXCLUDE REGEX "^__pycache__$|\\.so$")
file(MAKE_DIRECTORY "${package_build}")
file(GLOB linked LIST_DIRECTORIES true RELATIVE "${package_build}" "${package_build}/*")
foreach(entry IN LISTS linked)
  if(IS_SYMLINK "${package_build}/${entry}" AND NOT entry IN_LIST package_entries)
    file(REMOVE "${package_build}/${entry}")
  endif()
endforeach()
foreach(entry IN LISTS package_entries)
  file(CREATE_LINK "${package_source}/${entry}" "${package_build}/${entry}" SYMBOLIC)
endforeach()

# Type stubs say what the built module has, so they are made from it: for every wheel, and by `ninja stubs`.
set(stubs "${PROJECT_BINARY_DIR}/stubs")
if(SKBUILD)
  set(stubs_in_all ALL)
endif()
add_custom_target(stubs ${stubs_in_all}
  COMMAND "${Python_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/tools/make_stubs.py" "${PROJECT_BINARY_DIR}/python" "${stubs}"
  DEPENDS _core VERBATIM)
install(DIRECTORY "${stubs}/headrace" DESTINATION . COMPONENT python OPTIONAL)

# The wheel carries what pip cannot bring. What pip brings lies above it, in lib/ of the environment, and beside it.
set_property(TARGET headrace _core APPEND PROPERTY
  INSTALL_RPATH "$ORIGIN;$ORIGIN/../../..;$ORIGIN/../scipy_openblas32/lib")
install(TARGETS headrace _core LIBRARY DESTINATION headrace COMPONENT python)
if(HEADRACE_DISTRIBUTED)
  set_property(TARGET headrace_distributed APPEND PROPERTY INSTALL_RPATH "$ORIGIN/../../..")
  install(TARGETS headrace_distributed LIBRARY DESTINATION headrace COMPONENT python)
endif()
if(TARGET headrace_cuda)
  install(TARGETS headrace_cuda LIBRARY DESTINATION headrace COMPONENT python)
endif()
if(TARGET headrace_mpi)
  set_property(TARGET headrace_mpi APPEND PROPERTY INSTALL_RPATH "$ORIGIN/../../..")
  install(TARGETS headrace_mpi LIBRARY DESTINATION headrace COMPONENT python)
endif()
install(IMPORTED_RUNTIME_ARTIFACTS fmt::fmt hwy::hwy hwy::hwy_contrib libjpeg-turbo::turbojpeg LIBRARY DESTINATION headrace COMPONENT python)
