# libheadrace_mpi.so: sums between processes that mpirun or srun has started. libheadrace.so loads it there, so one build
# serves machines with and without MPI; where its headers are missing, it is left out.
enable_language(C)  # of which the compiler that knows MPI is asked
find_package(MPI QUIET COMPONENTS C)
if(NOT MPI_C_FOUND)
  message(STATUS "MPI is missing (Debian: libopenmpi-dev): sums over processes without servers are left out")
  return()
endif()

file(GLOB mpi_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/collective/mpi/*.cc")
add_library(headrace_mpi SHARED ${mpi_sources})
target_compile_definitions(headrace_mpi PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
target_link_libraries(headrace_mpi PRIVATE headrace_internal MPI::MPI_C)
set_target_properties(headrace_mpi PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib" INSTALL_RPATH "$ORIGIN")
