# libheadrace_distributed.so: stores over several processes, on gRPC. libheadrace.so loads it when the first is made.
set(protocol_folder "${PROJECT_BINARY_DIR}/protocol")
file(MAKE_DIRECTORY "${protocol_folder}")
foreach(name IN ITEMS protocol gathering etcd)
  set(protocol_source "${PROJECT_SOURCE_DIR}/src/distributed/${name}.proto")
  set(made pb.cc pb.h grpc.pb.cc grpc.pb.h)
  list(TRANSFORM made PREPEND "${protocol_folder}/distributed/${name}.")
  add_custom_command(OUTPUT ${made}
    COMMAND protobuf::protoc "--proto_path=${PROJECT_SOURCE_DIR}/src" "--cpp_out=${protocol_folder}"
      "--grpc_out=${protocol_folder}" "--plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>" "${protocol_source}"
    DEPENDS "${protocol_source}" VERBATIM)
  list(APPEND protocol_files ${made})
endforeach()
add_library(headrace_protocol STATIC ${protocol_files})
target_include_directories(headrace_protocol SYSTEM PUBLIC "${protocol_folder}")
target_link_libraries(headrace_protocol PUBLIC gRPC::grpc++ protobuf::libprotobuf)
target_compile_options(headrace_protocol PRIVATE -w)  # not ours

file(GLOB distributed_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/distributed/*.cc")
list(FILTER distributed_sources EXCLUDE REGEX "/library\\.cc$")
add_library(distributed_inside STATIC ${distributed_sources})
headrace_unite(distributed_inside)
target_link_libraries(distributed_inside PUBLIC headrace_internal headrace_protocol)
target_compile_definitions(distributed_inside PUBLIC HEADRACE_VERSION="${PROJECT_VERSION}")

add_library(headrace_distributed SHARED "${PROJECT_SOURCE_DIR}/src/distributed/library.cc")
target_link_libraries(headrace_distributed PRIVATE distributed_inside)
set_target_properties(headrace_distributed PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib" INSTALL_RPATH "$ORIGIN")
