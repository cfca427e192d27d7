# One executable per folder of tests/ that has *_test.cc files; tests named *Stress* or *Slow* do not get the label `fast`.
include(GoogleTest)

# Long tests begin first, so that none of them runs alone at the end. Greater costs begin earlier.
set(slow 1)
set(long 100)
set(longest 1000)

file(GLOB_RECURSE support_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/support/*.cc")
file(GLOB test_folders CONFIGURE_DEPENDS LIST_DIRECTORIES true RELATIVE "${PROJECT_SOURCE_DIR}/tests"
     "${PROJECT_SOURCE_DIR}/tests/*")
if(HEADRACE_LAYERS)
  list(FILTER test_folders INCLUDE REGEX "^(${layers_regex})$")
endif()

# What stands in for NVIDIA's driver, compiler, cuBLASLt, cuSOLVER, cuDNN and NCCL: kernels are compiled for the host and run there, late.
if(TARGET headrace_cuda)
  file(GLOB stand_in_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/cuda/stand_in/*.cc")
  if(NOT HEADRACE_CUSOLVER_INCLUDE)
    list(FILTER stand_in_sources EXCLUDE REGEX "/solver[.]cc$")
  endif()
  add_library(cuda_stand_in SHARED ${stand_in_sources})
  target_include_directories(cuda_stand_in SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_include_directories(cuda_stand_in PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(cuda_stand_in PRIVATE headrace_flags OpenBLAS::OpenBLAS Threads::Threads ${CMAKE_DL_LIBS})
  # How kernels are compiled. Where g++ finds what it has made of their prelude, it does not read the prelude again.
  set(stand_in_folder "${PROJECT_SOURCE_DIR}/tests/cuda/stand_in")
  set(prelude_folder "${PROJECT_BINARY_DIR}/tests/kernel_prelude")
  set(stand_in_options -std=c++20 -O1 -ffp-contract=off -fPIC ${headrace_sanitizer_options})
  if(MOLD_PROGRAM)
    list(APPEND stand_in_options -fuse-ld=mold)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(prelude "${prelude_folder}/kernel_prelude.h.gch")
    file(MAKE_DIRECTORY "${prelude_folder}")
    add_custom_command(OUTPUT "${prelude}"
      COMMAND "${CMAKE_CXX_COMPILER}" ${stand_in_options} -w -x c++-header -o "${prelude}" "${stand_in_folder}/kernel_prelude.h"
      DEPENDS "${stand_in_folder}/kernel_prelude.h" "${stand_in_folder}/block.h"
      COMMENT "Compiling the prelude of kernels" VERBATIM)
    target_sources(cuda_stand_in PRIVATE "${prelude}")
  endif()
  string(JOIN " " stand_in_flags ${stand_in_options} "-I'${prelude_folder}'" "-I'${stand_in_folder}'")
  target_compile_definitions(cuda_stand_in PRIVATE "STAND_IN_COMPILER=\"${CMAKE_CXX_COMPILER}\""
    "STAND_IN_FLAGS=\"${stand_in_flags}\"")
  # Its name for the loader: who asks for cuBLASLt once the stand-in is there gets it.
  set_target_properties(cuda_stand_in PROPERTIES NO_SONAME ON)
  target_link_options(cuda_stand_in PRIVATE "-Wl,-soname,libcublasLt.so.13")
  set_target_properties(cuda_stand_in PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
endif()

# What stands in for a wall clock that somebody sets while processes run, and for networks that somebody cuts between
# servers. Sanitizers want to be the first that is preloaded.
if(HEADRACE_DISTRIBUTED AND NOT HEADRACE_SANITIZE)
  foreach(preloaded clock/shifted_clock crossing/crossed_links)
    get_filename_component(name ${preloaded} NAME)
    add_library(${name} SHARED "${PROJECT_SOURCE_DIR}/tests/distributed/${preloaded}.cc")
    target_compile_options(${name} PRIVATE -fvisibility=hidden)
    target_link_libraries(${name} PRIVATE headrace_flags ${CMAKE_DL_LIBS})
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  endforeach()
endif()

# Those of tests/distributed that start no threads of gRPC, which is built without ThreadSanitizer: it does not see how they
# order what they do, and finds races everywhere.
string(JOIN ":" tests_without_grpc Clients.* Connections.* Heaps.* Inboxes.* Limits.* LongWaits.* Messages.* ProcessesTest.* Relays.* Rounds.* Shards.*
  ThreadsOfStreams.*)

# Those of tests/op that compute long, in one thread.
string(JOIN ":" tests_of_one_thread InstructionTest* KernelTest* MachineTest*)

set_source_files_properties("${PROJECT_SOURCE_DIR}/tests/support/sanitizers.cc" PROPERTIES
  COMPILE_DEFINITIONS "TSAN_SUPPRESSIONS=\"${PROJECT_SOURCE_DIR}/tools/tsan.supp\"" SKIP_UNITY_BUILD_INCLUSION ON)

foreach(folder IN LISTS test_folders)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${folder}/*_test.cc")
  if(NOT sources OR (folder STREQUAL "distributed" AND NOT HEADRACE_DISTRIBUTED)
      OR (folder STREQUAL "cuda" AND NOT TARGET headrace_cuda))
    continue()
  endif()
  set(target test_${folder})
  add_executable(${target} ${sources} ${support_sources})
  target_link_libraries(${target} PRIVATE headrace_internal GTest::gmock GTest::gtest_main)
  # Most of their code runs once. At -O1 g++ 12 believes of variants that they may not be set.
  target_compile_options(${target} PRIVATE -O1 -Wno-maybe-uninitialized)
  headrace_unite(${target})
  if(NOT folder STREQUAL "distributed")  # gRPC's options are none of those that the others share
    headrace_precompile_test(${target})
  endif()
  if(folder STREQUAL "distributed")
    target_link_libraries(${target} PRIVATE distributed_inside)
  endif()
  if(folder STREQUAL "cuda")
    target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests/cuda/environment.cc"
      "${PROJECT_SOURCE_DIR}/tests/cuda/stand_in/machine_code.cc")
    target_link_libraries(${target} PRIVATE headrace_cuda)
    target_include_directories(${target} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
    add_dependencies(${target} cuda_stand_in)
    target_compile_definitions(${target} PRIVATE
      "STAND_IN_LIBRARY=\"$<TARGET_FILE:cuda_stand_in>\"" "STAND_IN_CACHE=\"${PROJECT_BINARY_DIR}/cuda/kernels\"")
  endif()
  if(folder STREQUAL "gluon")
    target_link_libraries(${target} PRIVATE headrace_cpp)
    target_compile_definitions(${target} PRIVATE HEADRACE_DIGITS="${digits_folder}")
  endif()
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  set(gpus "")
  if(NOT folder STREQUAL "cuda")  # GPUs of the machine are none that tests simulate
    set(gpus ENVIRONMENT "HEADRACE_CUDA=0")
  endif()
  set(fast "-*Stress*:*Slow*")
  if(folder STREQUAL "distributed" AND HEADRACE_SANITIZE MATCHES "thread")
    set(fast "${tests_without_grpc}")
  elseif(folder STREQUAL "op" AND HEADRACE_SANITIZE MATCHES "thread")
    set(fast "${fast}:${tests_of_one_thread}")
  endif()
  gtest_discover_tests(${target} TEST_PREFIX "${folder}." TEST_FILTER "${fast}" TEST_LIST ${target}_fast
    DISCOVERY_TIMEOUT 60 PROPERTIES LABELS fast TIMEOUT 300 ${gpus})
  gtest_discover_tests(${target} TEST_PREFIX "${folder}." TEST_FILTER "*Stress*:*Slow*" TEST_LIST ${target}_slow
    DISCOVERY_TIMEOUT 60 PROPERTIES LABELS slow TIMEOUT 900 COST ${slow} ${gpus})
endforeach()

if(TARGET shifted_clock AND TARGET test_distributed)
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/tests/clocks")
  add_test(NAME distributed.clocks COMMAND test_distributed --gtest_brief=1 "--gtest_filter=Clocks*")
  set_tests_properties(distributed.clocks PROPERTIES LABELS fast TIMEOUT 300
    ENVIRONMENT "HEADRACE_CUDA=0;LD_PRELOAD=$<TARGET_FILE:shifted_clock>;CHAOS_CLOCKS=${PROJECT_BINARY_DIR}/tests/clocks")
  add_dependencies(test_distributed shifted_clock crossed_links)
endif()

# Convolutions and recurrent layers where there is no cuDNN, matrices where there is no cuSOLVER, and what may be rounded
# to TF32.
if(TARGET test_cuda)
  set(convolutions "CudaDnn*:*Convolution*")
  add_test(NAME cuda.without_cudnn COMMAND test_cuda --gtest_brief=1 "--gtest_filter=${convolutions}")
  add_test(NAME cuda.without_cusolver COMMAND test_cuda --gtest_brief=1 "--gtest_filter=CudaDecompositions.*")
  set_tests_properties(cuda.without_cusolver PROPERTIES LABELS slow TIMEOUT 300 ENVIRONMENT "HEADRACE_CUDA_SOLVER=none")
  add_test(NAME cuda.tf32 COMMAND test_cuda --gtest_brief=1 "--gtest_filter=${convolutions}:*Product*")
  # Of the many tests of kernels, which are compiled at run time, those that meet most of them: all but the first way,
  # whose kernels the third, gradients, meets too.
  if(HEADRACE_SANITIZE)
    gtest_discover_tests(test_cuda TEST_PREFIX "cuda.operators." TEST_FILTER "*OperatorsOnCuda*-*/0" TEST_LIST test_cuda_operators
      DISCOVERY_TIMEOUT 60 PROPERTIES LABELS fast TIMEOUT 1800 COST ${long})
  endif()
  add_test(NAME cuda.gangs COMMAND test_cuda --gtest_brief=1 "--gtest_filter=CudaGangs.*:CudaRankGangs*")
  set_tests_properties(cuda.gangs PROPERTIES LABELS slow TIMEOUT 300 ENVIRONMENT "HEADRACE_STAND_IN_GPUS=4")
  set_tests_properties(cuda.without_cudnn PROPERTIES LABELS slow TIMEOUT 900 COST ${long} ENVIRONMENT "HEADRACE_CUDA_DNN=none")
  set_tests_properties(cuda.tf32 PROPERTIES LABELS slow TIMEOUT 900
    ENVIRONMENT "MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION=1")
endif()

# The real compiler of kernels needs no GPU. Nor do plans of the real cuDNN, from 9.11 on, which says what it would run, nor
# a look at what the real cuSOLVER has.
if(TARGET test_cuda)
  find_library(HEADRACE_CUDNN cudnn HINTS "${CUDAToolkit_LIBRARY_DIR}")
  find_file(HEADRACE_CUDNN_VERSION cudnn_version.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  set(cudnn_version 0)
  if(HEADRACE_CUDNN AND HEADRACE_CUDNN_VERSION)
    file(STRINGS "${HEADRACE_CUDNN_VERSION}" cudnn_lines REGEX "define CUDNN_M(AJOR|INOR) ")
    string(REGEX REPLACE "[^0-9]+" "." cudnn_version "${cudnn_lines}")
    string(REGEX REPLACE "^[.]" "" cudnn_version "${cudnn_version}")
  endif()
  if(cudnn_version VERSION_GREATER_EQUAL 9.11)
    add_library(cudnn_without_gpu SHARED "${PROJECT_SOURCE_DIR}/tests/cuda/without_gpu/cudnn.cc"
      "${PROJECT_SOURCE_DIR}/tests/cuda/without_gpu/cudnn_rnn.cc")
    target_include_directories(cudnn_without_gpu SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
    target_include_directories(cudnn_without_gpu PRIVATE "${PROJECT_SOURCE_DIR}")
    target_link_libraries(cudnn_without_gpu PRIVATE headrace_flags ${CMAKE_DL_LIBS})
    target_compile_definitions(cudnn_without_gpu PRIVATE "CUDNN_LIBRARY=\"${HEADRACE_CUDNN}\"")
    set_target_properties(cudnn_without_gpu PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
    add_dependencies(test_cuda cudnn_without_gpu)
    add_test(NAME cuda.cudnn COMMAND test_cuda --gtest_brief=1 "--gtest_filter=CudnnPlans*")
    set_tests_properties(cuda.cudnn PROPERTIES LABELS slow TIMEOUT 900
      ENVIRONMENT "HEADRACE_CUDA_DNN=$<TARGET_FILE:cudnn_without_gpu>")
  endif()
  find_library(HEADRACE_CUSOLVER cusolver HINTS "${CUDAToolkit_LIBRARY_DIR}")
  if(HEADRACE_CUSOLVER AND HEADRACE_CUSOLVER_INCLUDE)
    add_test(NAME cuda.cusolver COMMAND test_cuda --gtest_brief=1 "--gtest_filter=CudaSolverLibrary.*")
    set_tests_properties(cuda.cusolver PROPERTIES LABELS slow TIMEOUT 300
      ENVIRONMENT "HEADRACE_CUDA=0;HEADRACE_CUDA_SOLVER=${HEADRACE_CUSOLVER}")
  endif()
  find_library(HEADRACE_NVRTC nvrtc HINTS "${CUDAToolkit_LIBRARY_DIR}")
  if(HEADRACE_NVRTC)
    add_test(NAME cuda.nvrtc COMMAND test_cuda --gtest_brief=1 "--gtest_filter=CudaCompiler*")
    set_tests_properties(cuda.nvrtc PROPERTIES LABELS slow TIMEOUT 1800 COST ${longest} ENVIRONMENT "HEADRACE_CUDA_COMPILER=${HEADRACE_NVRTC}")
    foreach(capability IN ITEMS 75 120)
      add_test(NAME cuda.nvrtc.${capability} COMMAND test_cuda --gtest_brief=1 "--gtest_filter=CudaCompilerSlow.TakesTheKernels*")
      set_tests_properties(cuda.nvrtc.${capability} PROPERTIES LABELS slow TIMEOUT 1800 COST ${longest}
        ENVIRONMENT "HEADRACE_CUDA_COMPILER=${HEADRACE_NVRTC};HEADRACE_STAND_IN_CAPABILITY=${capability}")
    endforeach()
  endif()
endif()

# Everything that uses simulated GPUs holds on strict ones, too (docs/devices.md), which find by themselves what sanitizers
# would.
foreach(folder IN ITEMS engine kvstore simulation gluon)
  if(TARGET test_${folder} AND NOT HEADRACE_SANITIZE)
    add_test(NAME strict.${folder} COMMAND test_${folder} --gtest_brief=1)
    set_tests_properties(strict.${folder} PROPERTIES LABELS "fast;strict" TIMEOUT 600
      ENVIRONMENT "HEADRACE_SIM_STRICT=1;HEADRACE_CUDA=0")
  endif()
endforeach()

# Simulated GPUs that come from a library, which is loaded at run time, hold as well; and those that have kernels of their
# own in place of the host's. The library goes before libheadrace in the search for symbols, so that tests control the GPUs
# that they use.
if(NOT HEADRACE_SANITIZE AND NOT HEADRACE_LAYERS)
  file(GLOB sources_of_simulation CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/backend/sim/*.cc")
  add_library(simulation_inside OBJECT ${sources_of_simulation})
  target_compile_options(simulation_inside PRIVATE -fvisibility=hidden)
  set_target_properties(simulation_inside PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(simulation_inside PRIVATE headrace_internal nlohmann_json::nlohmann_json)
  foreach(plugin IN ITEMS simulated_gpus tabled_gpus)
    add_library(${plugin}_inside OBJECT "${PROJECT_SOURCE_DIR}/tests/plugin/${plugin}.cc")
    target_compile_options(${plugin}_inside PRIVATE -fvisibility=hidden)
    set_target_properties(${plugin}_inside PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(${plugin}_inside PRIVATE headrace_internal)
    add_library(${plugin} SHARED "${PROJECT_SOURCE_DIR}/src/simulation/sim.cc")
    target_link_libraries(${plugin} PRIVATE ${plugin}_inside simulation_inside headrace_internal)
    target_link_options(${plugin} PRIVATE -Wl,-Bsymbolic)
    set_target_properties(${plugin} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
    foreach(folder IN ITEMS engine kvstore simulation gluon)
      add_test(NAME plugin.${plugin}.${folder} COMMAND test_${folder} --gtest_brief=1)
      set_tests_properties(plugin.${plugin}.${folder} PROPERTIES LABELS "fast;plugin" TIMEOUT 600 ENVIRONMENT
        "HEADRACE_SIM_STRICT=1;HEADRACE_CUDA=0;HEADRACE_BACKENDS=$<TARGET_FILE:${plugin}>;LD_PRELOAD=$<TARGET_FILE:${plugin}>")
    endforeach()
  endforeach()
endif()

# The examples of a page that are whole files are compiled, once: sanitizers see nothing of it. Further arguments are the
# folders of the headers that a reader of the page has.
function(headrace_page_test page)
  list(TRANSFORM ARGN PREPEND "-I${PROJECT_SOURCE_DIR}/" OUTPUT_VARIABLE folders)
  add_test(NAME docs.${page}
    COMMAND "${Python_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/tools/compile_examples.py"
      "${PROJECT_SOURCE_DIR}/docs/${page}.md" "${CMAKE_CXX_COMPILER}" -std=c++20 -Wall -Wextra -Werror
      -Wno-missing-field-initializers ${folders})
  set_tests_properties(docs.${page} PROPERTIES LABELS fast TIMEOUT 300)
endfunction()

if(NOT HEADRACE_SANITIZE)
  headrace_page_test(adding-an-operator src include)
  headrace_page_test(kvstore include)
  if(NOT HEADRACE_LAYERS)  # the programs of docs/cpp.md run, too
    add_test(NAME docs.cpp
      COMMAND "${Python_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/tools/run_examples.py" "${PROJECT_SOURCE_DIR}/docs/cpp.md"
        "${CMAKE_CXX_COMPILER}" -std=c++20 -Wall -Wextra -Werror -Wno-missing-field-initializers
        "-I${PROJECT_SOURCE_DIR}/include" "-I${PROJECT_BINARY_DIR}/include"
        $<TARGET_FILE:headrace> -Wl,-rpath,$<TARGET_FILE_DIR:headrace>)
    set_tests_properties(docs.cpp PROPERTIES LABELS fast TIMEOUT 600)
  endif()
endif()
