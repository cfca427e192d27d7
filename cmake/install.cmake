# What `cmake --install` gives to C++ programs, as component `cpp`: the library, the public headers, a CMake package.
include(CMakePackageConfigHelpers)
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/headrace")
# For the libraries of the PyPI packages: a folder of their own, so that no other program finds them.
set(bundle_folder "${CMAKE_INSTALL_LIBDIR}/headrace")

set_property(TARGET headrace APPEND PROPERTY INSTALL_RPATH "$ORIGIN/headrace")
install(TARGETS headrace EXPORT headrace LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT cpp)
if(HEADRACE_DISTRIBUTED)
  install(TARGETS headrace_distributed LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT cpp)
endif()
if(TARGET headrace_cuda)
  install(TARGETS headrace_cuda LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT cpp)
endif()
if(TARGET headrace_mpi)
  install(TARGETS headrace_mpi LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT cpp)
endif()
install(FILES $<TARGET_SONAME_FILE:DNNL::dnnl> $<TARGET_FILE:TBB::tbb> "${HEADRACE_IMF}" "${HEADRACE_INTLC}"
  $<TARGET_FILE:OpenBLAS::OpenBLAS>
  DESTINATION "${bundle_folder}" COMPONENT cpp)

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/headrace" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT cpp)
install(FILES "${operators_header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/headrace" COMPONENT cpp)

install(EXPORT headrace NAMESPACE headrace:: FILE headraceConfig.cmake DESTINATION "${package_folder}" COMPONENT cpp)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/headraceConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/headraceConfigVersion.cmake" DESTINATION "${package_folder}" COMPONENT cpp)

# The examples are built and run as a user's project, with the package installed into the build folder.
if(HEADRACE_TESTS AND NOT HEADRACE_SANITIZE)
  set(package_test "${PROJECT_BINARY_DIR}/package")
  add_test(NAME package.install
    COMMAND "${CMAKE_COMMAND}" --install "${PROJECT_BINARY_DIR}" --prefix "${package_test}/prefix" --component cpp)
  add_test(NAME package.use COMMAND "${CMAKE_CTEST_COMMAND}"
    --build-and-test "${PROJECT_SOURCE_DIR}/examples/cpp" "${package_test}/build"
    --build-generator "${CMAKE_GENERATOR}" --build-options "-DCMAKE_PREFIX_PATH=${package_test}/prefix"
    --test-command train_mlp "${digits_folder}")
  set_tests_properties(package.install PROPERTIES FIXTURES_SETUP package LABELS fast)
  set_tests_properties(package.use PROPERTIES FIXTURES_REQUIRED package LABELS "example;fast" TIMEOUT 300
    PASS_REGULAR_EXPRESSION "test accuracy: 0\\.9[5-9]")
endif()
