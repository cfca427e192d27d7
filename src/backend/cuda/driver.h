// NVIDIA's driver as a table of functions, which are looked up in the library that the machine has: nothing is linked,
// so the plug-in loads where no driver is, and a stand-in may take its place (HEADRACE_CUDA_DRIVER). Each function is
// asked for in the version that this code was written for, so that what a later driver means by its name does not
// matter.
#pragma once

#include <cuda.h>

#include <string>

namespace headrace {

// The oldest version of the driver's interface that the plug-in is content with, as cuDriverGetVersion() counts.
inline constexpr int kOldestCuda = 12040;

struct CudaDriver {
  decltype(&cuInit) init;
  decltype(&cuDriverGetVersion) driver_get_version;
  decltype(&cuGetErrorName) get_error_name;
  decltype(&cuGetErrorString) get_error_string;
  decltype(&cuDeviceGetCount) device_get_count;
  decltype(&cuDeviceGet) device_get;
  decltype(&cuDeviceGetAttribute) device_get_attribute;
  decltype(&cuDeviceGetName) device_get_name;
  decltype(&cuDeviceTotalMem) device_total_mem;
  decltype(&cuDeviceGetUuid) device_get_uuid;
  decltype(&cuDeviceCanAccessPeer) device_can_access_peer;
  decltype(&cuDevicePrimaryCtxRetain) device_primary_ctx_retain;
  decltype(&cuCtxPushCurrent) ctx_push_current;
  decltype(&cuCtxPopCurrent) ctx_pop_current;
  decltype(&cuCtxGetCurrent) ctx_get_current;
  decltype(&cuCtxEnablePeerAccess) ctx_enable_peer_access;
  decltype(&cuCtxSynchronize) ctx_synchronize;
  decltype(&cuMemAlloc) mem_alloc;
  decltype(&cuMemFree) mem_free;
  decltype(&cuMemGetInfo) mem_get_info;
  decltype(&cuMemHostAlloc) mem_host_alloc;
  decltype(&cuMemFreeHost) mem_free_host;
  decltype(&cuMemcpyHtoDAsync) memcpy_htod_async;
  decltype(&cuMemcpyDtoHAsync) memcpy_dtoh_async;
  decltype(&cuMemcpyDtoDAsync) memcpy_dtod_async;
  decltype(&cuMemcpyPeerAsync) memcpy_peer_async;
  decltype(&cuStreamCreateWithPriority) stream_create_with_priority;
  decltype(&cuStreamQuery) stream_query;
  decltype(&cuStreamWaitEvent) stream_wait_event;
  decltype(&cuStreamWriteValue64) stream_write_value64;
  decltype(&cuLaunchHostFunc) launch_host_func;
  decltype(&cuEventCreate) event_create;
  decltype(&cuEventRecord) event_record;
  decltype(&cuEventElapsedTime) event_elapsed_time;
  decltype(&cuStreamBeginCapture) stream_begin_capture;
  decltype(&cuStreamEndCapture) stream_end_capture;
  decltype(&cuThreadExchangeStreamCaptureMode) thread_exchange_stream_capture_mode;
  decltype(&cuGraphGetNodes) graph_get_nodes;
  decltype(&cuGraphInstantiate) graph_instantiate;
  decltype(&cuGraphDestroy) graph_destroy;
  decltype(&cuGraphLaunch) graph_launch;
  decltype(&cuGraphExecDestroy) graph_exec_destroy;
  decltype(&cuModuleLoadData) module_load_data;
  decltype(&cuModuleGetFunction) module_get_function;
  decltype(&cuModuleUnload) module_unload;
  decltype(&cuFuncSetAttribute) func_set_attribute;
  decltype(&cuLaunchKernel) launch_kernel;
};

// The driver after cuInit; the first call loads it. Null where there is none, or none that serves: see
// why_no_cuda_driver(). Lives as long as the process. Any thread.
const CudaDriver* cuda_driver();
// Whether this process has asked for the driver: a child that it forks cannot use it.
bool cuda_driver_was_asked() noexcept;
// The version of CUDA, as 13, above which the driver does not take what libraries of CUDA make; without a driver any.
int newest_cuda();
// A sentence; empty where there is a driver.
const std::string& why_no_cuda_driver();

// "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)".
std::string cuda_error_text(CUresult result);

}  // namespace headrace
