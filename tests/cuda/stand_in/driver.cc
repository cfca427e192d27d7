// The functions of the stand-in for NVIDIA's driver that headrace's plug-in asks for (backend/cuda/driver.h).
#include <cuda.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <thread>

#include "tests/cuda/stand_in/kernel.h"
#include "tests/cuda/stand_in/machine.h"

namespace stand_in {
namespace {

template <class T>
T* from_handle(void* handle) noexcept {
  return static_cast<T*>(handle);
}

Context* context_of(CUcontext handle) noexcept { return from_handle<Context>(handle); }
Stream* stream_of(CUstream handle) noexcept { return from_handle<Stream>(handle); }
Event* event_of(CUevent handle) noexcept { return from_handle<Event>(handle); }
Module* module_of(CUmodule handle) noexcept { return from_handle<Module>(handle); }
Function* function_of(CUfunction handle) noexcept { return from_handle<Function>(handle); }

// Where bytes of device memory lie; ends the process where they are none.
char* on_device(const char* call, CUdeviceptr address, size_t bytes) {
  Context* const owner = machine().owner(address);
  if (!owner) violation("%s of memory that is no device's", call);
  return owner->memory.find(address, bytes);
}

const std::map<int, std::pair<const char*, const char*>> kErrors = {
    {CUDA_ERROR_INVALID_VALUE, {"CUDA_ERROR_INVALID_VALUE", "invalid argument"}},
    {CUDA_ERROR_OUT_OF_MEMORY, {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}},
    {CUDA_ERROR_NO_DEVICE, {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}},
    {CUDA_ERROR_ILLEGAL_ADDRESS, {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}},
    {CUDA_ERROR_ECC_UNCORRECTABLE, {"CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"}},
    {CUDA_ERROR_LAUNCH_FAILED, {"CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"}},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
     {"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"}},
};

// --- devices and contexts --------------------------------------------------------------------------------------------

CUresult init(unsigned) { return machine().enter("cuInit"); }

CUresult driver_get_version(int* version) {
  *version = CUDA_VERSION;
  return machine().enter("cuDriverGetVersion");
}

CUresult get_error_name(CUresult error, const char** name) {
  const auto known = kErrors.find(error);
  *name = known == kErrors.end() ? nullptr : known->second.first;
  return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult get_error_string(CUresult error, const char** text) {
  const auto known = kErrors.find(error);
  *text = known == kErrors.end() ? nullptr : known->second.second;
  return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult device_get_count(int* count) {
  *count = machine().device_count();
  return machine().enter("cuDeviceGetCount");
}

CUresult device_get(CUdevice* device, int ordinal) {
  if (ordinal < 0 || ordinal >= machine().device_count()) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return machine().enter("cuDeviceGet");
}

CUresult device_get_name(char* name, int bytes, CUdevice) {
  std::snprintf(name, static_cast<size_t>(bytes), "stand-in");
  return machine().enter("cuDeviceGetName");
}

// The same in all processes of a machine.
CUresult device_get_uuid(CUuuid* uuid, CUdevice device) {
  std::memset(uuid, 0, sizeof *uuid);
  uuid->bytes[0] = static_cast<char>(device + 1);
  return machine().enter("cuDeviceGetUuid");
}

CUresult device_get_attribute(int* value, CUdevice_attribute attribute, CUdevice) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = machine().compute_capability() / 10;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = machine().compute_capability() % 10;
      break;
    case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
      *value = 1;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 2;
      break;
    default:
      violation("cuDeviceGetAttribute: attribute %d is not known here", static_cast<int>(attribute));
  }
  return machine().enter("cuDeviceGetAttribute");
}

CUresult device_total_mem(size_t* bytes, CUdevice device) {
  *bytes = machine().context(device).memory.total();
  return machine().enter("cuDeviceTotalMem");
}

CUresult device_can_access_peer(int* can, CUdevice, CUdevice) {
  *can = 1;
  return machine().enter("cuDeviceCanAccessPeer");
}

CUresult device_primary_ctx_retain(CUcontext* context, CUdevice device) {
  *context = reinterpret_cast<CUcontext>(&machine().context(device));
  return machine().enter("cuDevicePrimaryCtxRetain");
}

CUresult ctx_push_current(CUcontext context) {
  machine().push(context_of(context));
  return machine().enter("cuCtxPushCurrent");
}

CUresult ctx_pop_current(CUcontext* context) {
  *context = reinterpret_cast<CUcontext>(machine().pop());
  return machine().enter("cuCtxPopCurrent");
}

CUresult ctx_get_current(CUcontext* context) {
  *context = reinterpret_cast<CUcontext>(machine().current());
  return machine().enter("cuCtxGetCurrent");
}

CUresult ctx_enable_peer_access(CUcontext, unsigned) {
  machine().needed("cuCtxEnablePeerAccess");
  return machine().enter("cuCtxEnablePeerAccess");
}

CUresult ctx_synchronize() {
  Context& context = machine().needed("cuCtxSynchronize");
  if (const CUresult failure = machine().enter_outside_of_capture("cuCtxSynchronize")) return failure;
  std::vector<Stream*> streams;
  {
    const std::lock_guard guard(context.mutex);
    streams = context.streams;
  }
  for (Stream* const stream : streams)
    while (!stream->is_idle()) std::this_thread::sleep_for(std::chrono::microseconds(50));
  return machine().is_lost() ? CUDA_ERROR_LAUNCH_FAILED : CUDA_SUCCESS;
}

// --- memory ----------------------------------------------------------------------------------------------------------

CUresult mem_alloc(CUdeviceptr* memory, size_t bytes) {
  Context& context = machine().needed("cuMemAlloc");
  if (const CUresult failure = machine().enter_outside_of_capture("cuMemAlloc")) return failure;
  *memory = context.memory.allocate(bytes);
  return *memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult mem_free(CUdeviceptr memory) {
  machine().needed("cuMemFree");
  if (const CUresult failure = machine().enter_outside_of_capture("cuMemFree")) return failure;
  Context* const owner = machine().owner(memory);
  if (!owner) violation("cuMemFree of memory that is no device's");
  owner->memory.release(memory);
  return CUDA_SUCCESS;
}

CUresult mem_get_info(size_t* free, size_t* total) {
  const Memory& memory = machine().needed("cuMemGetInfo").memory;
  *free = memory.free();
  *total = memory.total();
  return machine().enter("cuMemGetInfo");
}

CUresult mem_host_alloc(void** memory, size_t bytes, unsigned) {
  machine().needed("cuMemHostAlloc");
  if (const CUresult failure = machine().enter_outside_of_capture("cuMemHostAlloc")) return failure;
  constexpr std::align_val_t kPage{4096};
  *memory = ::operator new(bytes, kPage, std::nothrow);
  return *memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult mem_free_host(void* memory) {
  machine().needed("cuMemFreeHost");
  constexpr std::align_val_t kPage{4096};
  ::operator delete(memory, kPage);
  return machine().enter_outside_of_capture("cuMemFreeHost");
}

// --- copies ----------------------------------------------------------------------------------------------------------

// Runs behind what the stream has; on the stream of the current context.
Stream& queue_of(const char* call, CUstream handle) {
  const Context& context = machine().needed(call);
  Stream* const stream = stream_of(handle);
  if (!stream) violation("%s on no stream of its own", call);
  if (&stream->context() != &context) violation("%s on a stream of another context", call);
  return *stream;
}

// The same for what is no part of a graph that runs again: it would be the host's, or other streams', of that moment.
Stream& queue_outside_of_capture(const char* call, CUstream handle) {
  Stream& stream = queue_of(call, handle);
  if (stream.is_capturing()) violation("%s on a stream that captures", call);
  return stream;
}

CUresult memcpy_htod(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  Stream& queue = queue_outside_of_capture("cuMemcpyHtoDAsync", stream);
  if (const CUresult failure = machine().enter("cuMemcpyHtoDAsync")) return failure;
  char* const place = on_device("cuMemcpyHtoDAsync", to, bytes);
  queue.put({to}, [=] { std::memcpy(place, from, bytes); });
  return CUDA_SUCCESS;
}

CUresult memcpy_dtoh(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  Stream& queue = queue_outside_of_capture("cuMemcpyDtoHAsync", stream);
  if (const CUresult failure = machine().enter("cuMemcpyDtoHAsync")) return failure;
  const char* const place = on_device("cuMemcpyDtoHAsync", from, bytes);
  queue.put({from}, [=] { std::memcpy(to, place, bytes); });
  return CUDA_SUCCESS;
}

CUresult copy_on_devices(const char* call, CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  Stream& queue = queue_of(call, stream);
  if (const CUresult failure = machine().enter(call)) return failure;
  char* const target = on_device(call, to, bytes);
  const char* const source = on_device(call, from, bytes);
  queue.put({to, from}, [=] { std::memcpy(target, source, bytes); });
  return CUDA_SUCCESS;
}

CUresult memcpy_dtod(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_on_devices("cuMemcpyDtoDAsync", to, from, bytes, stream);
}

CUresult memcpy_peer(CUdeviceptr to, CUcontext target, CUdeviceptr from, CUcontext source, size_t bytes,
                     CUstream stream) {
  if (machine().owner(to) != context_of(target) || machine().owner(from) != context_of(source))
    violation("cuMemcpyPeerAsync: memory is not in the context that was named");
  return copy_on_devices("cuMemcpyPeerAsync", to, from, bytes, stream);
}

// --- streams and events ----------------------------------------------------------------------------------------------

CUresult stream_create(CUstream* stream, unsigned flags, int) {
  Context& context = machine().needed("cuStreamCreateWithPriority");
  if (flags != CU_STREAM_NON_BLOCKING)
    violation("cuStreamCreateWithPriority of a stream that waits for the default one");
  if (const CUresult failure = machine().enter("cuStreamCreateWithPriority")) return failure;
  auto* const made = new Stream(context);
  const std::lock_guard guard(context.mutex);
  context.streams.push_back(made);
  *stream = reinterpret_cast<CUstream>(made);
  return CUDA_SUCCESS;
}

CUresult stream_query(CUstream stream) {
  Stream& queue = queue_outside_of_capture("cuStreamQuery", stream);
  if (const CUresult failure = machine().enter("cuStreamQuery")) return failure;
  return queue.is_idle() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult event_create(CUevent* event, unsigned flags) {
  machine().needed("cuEventCreate");
  *event = reinterpret_cast<CUevent>(new Event{.takes_time = (flags & CU_EVENT_DISABLE_TIMING) == 0});
  return machine().enter("cuEventCreate");
}

CUresult event_record(CUevent handle, CUstream stream) {
  Stream& queue = queue_outside_of_capture("cuEventRecord", stream);
  if (const CUresult failure = machine().enter("cuEventRecord")) return failure;
  Event* const event = event_of(handle);
  uint64_t number = 0;
  {
    const std::lock_guard guard(event->mutex);
    number = ++event->recorded;
  }
  queue.put({}, [event, number] {
    {
      const std::lock_guard guard(event->mutex);
      event->reached = std::max(event->reached, number);
      event->time = std::chrono::steady_clock::now();
    }
    event->changed.notify_all();
  });
  return CUDA_SUCCESS;
}

CUresult event_elapsed_time(float* ms, CUevent begin, CUevent end) {
  machine().needed("cuEventElapsedTime");
  std::chrono::steady_clock::time_point times[2];
  for (const int which : {0, 1}) {
    Event* const event = event_of(which == 0 ? begin : end);
    const std::lock_guard guard(event->mutex);
    if (!event->takes_time || event->recorded == 0) violation("cuEventElapsedTime of an event that has no time");
    if (event->reached < event->recorded) return CUDA_ERROR_NOT_READY;
    times[which] = event->time;
  }
  *ms = std::chrono::duration<float, std::milli>(times[1] - times[0]).count();
  return machine().enter("cuEventElapsedTime");
}

CUresult stream_wait_event(CUstream stream, CUevent handle, unsigned) {
  Stream& queue = queue_outside_of_capture("cuStreamWaitEvent", stream);
  if (const CUresult failure = machine().enter("cuStreamWaitEvent")) return failure;
  Event* const event = event_of(handle);
  uint64_t number = 0;
  {
    const std::lock_guard guard(event->mutex);
    number = event->recorded;
  }
  queue.put({}, [event, number] {
    std::unique_lock guard(event->mutex);
    event->changed.wait(guard, [&] { return event->reached >= number; });
  });
  return CUDA_SUCCESS;
}

CUresult stream_write_value(CUstream stream, CUdeviceptr place, cuuint64_t value, unsigned) {
  Stream& queue = queue_outside_of_capture("cuStreamWriteValue64", stream);
  if (const CUresult failure = machine().enter("cuStreamWriteValue64")) return failure;
  auto* const word = reinterpret_cast<uint64_t*>(place);  // of pinned memory, which the host and devices address alike
  queue.put({}, [word, value] { __atomic_store_n(word, value, __ATOMIC_RELEASE); });
  return CUDA_SUCCESS;
}

CUresult launch_host_func(CUstream stream, CUhostFn function, void* data) {
  Stream& queue = queue_outside_of_capture("cuLaunchHostFunc", stream);
  if (const CUresult failure = machine().enter("cuLaunchHostFunc")) return failure;
  queue.put({}, [function, data] {
    if (machine().is_lost()) return;
    const HostFunctionScope scope;
    function(data);
  });
  return CUDA_SUCCESS;
}

// --- kernels ---------------------------------------------------------------------------------------------------------

CUresult module_load_data(CUmodule* module, const void* image) {
  machine().needed("cuModuleLoadData");
  if (const CUresult failure = machine().enter_outside_of_capture("cuModuleLoadData")) return failure;
  *module = reinterpret_cast<CUmodule>(load_image(image));
  return *module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

CUresult module_get_function(CUfunction* function, CUmodule module, const char* name) {
  machine().needed("cuModuleGetFunction");
  if (const CUresult failure = machine().enter("cuModuleGetFunction")) return failure;
  *function = reinterpret_cast<CUfunction>(find_kernel(*module_of(module), name));
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult module_unload(CUmodule module) {
  machine().needed("cuModuleUnload");
  if (const CUresult failure = machine().enter_outside_of_capture("cuModuleUnload")) return failure;
  unload_image(module_of(module));
  return CUDA_SUCCESS;
}

CUresult func_set_attribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  machine().needed("cuFuncSetAttribute");
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    violation("cuFuncSetAttribute of an attribute that the stand-in does not know");
  const unsigned declared = function_of(handle)->resources.shared_bytes;
  if (value < 0 || declared + static_cast<unsigned>(value) > kMostSharedBytes) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult failure = machine().enter("cuFuncSetAttribute")) return failure;
  function_of(handle)->most_dynamic_bytes = static_cast<unsigned>(value);
  return CUDA_SUCCESS;
}

// Whether a multiprocessor has what a block takes.
bool fits(const Function& function, size_t threads, unsigned dynamic_bytes) {
  constexpr size_t kRegisters = 64 << 10, kWarp = 32, kRegistersAtOnce = 8;
  const auto up_to = [](size_t count, size_t step) { return (count + step - 1) / step * step; };
  const Resources& taken = function.resources;
  return up_to(threads, kWarp) * up_to(taken.registers, kRegistersAtOnce) <= kRegisters &&
         (function.most_dynamic_bytes ? dynamic_bytes <= *function.most_dynamic_bytes
                                      : taken.shared_bytes + dynamic_bytes <= kUsualSharedBytes);
}

// The bytes of the arguments that CU_LAUNCH_PARAM_BUFFER_POINTER gives.
std::string argument_bytes(void** extra) {
  const char* bytes = nullptr;
  size_t count = 0;
  for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) bytes = static_cast<const char*>(extra[1]);
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) count = *static_cast<const size_t*>(extra[1]);
  }
  if (!bytes) violation("cuLaunchKernel without arguments in one buffer");
  return {bytes, count};
}

// Every word that is an address of device memory becomes the place where it lies.
std::vector<CUdeviceptr> translate(std::string& arguments) {
  std::vector<CUdeviceptr> uses;
  for (size_t at = 0; at + sizeof(CUdeviceptr) <= arguments.size(); at += sizeof(CUdeviceptr)) {
    CUdeviceptr word = 0;
    std::memcpy(&word, arguments.data() + at, sizeof word);
    Context* const owner = machine().owner(word);
    if (!owner) continue;
    const char* const place = owner->memory.find(word, 1);
    std::memcpy(arguments.data() + at, &place, sizeof place);
    uses.push_back(word);
  }
  return uses;
}

CUresult launch_kernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                       unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void** parameters,
                       void** extra) {
  Stream& queue = queue_of("cuLaunchKernel", stream);
  if (const CUresult failure = machine().enter("cuLaunchKernel")) return failure;
  if (parameters) violation("cuLaunchKernel in a form that the stand-in does not know");
  constexpr unsigned kMostThreads = 1024;
  const size_t threads = size_t{block_x} * block_y * block_z, blocks = size_t{grid_x} * grid_y * grid_z;
  if (blocks == 0 || threads == 0 || threads > kMostThreads) return CUDA_ERROR_INVALID_VALUE;
  const Function& kernel = *function_of(function);
  if (!fits(kernel, threads, shared_bytes)) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  std::string arguments = argument_bytes(extra);
  std::vector<CUdeviceptr> uses = translate(arguments);
  const Extents extents{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes};
  queue.put(std::move(uses), [=, run = kernel.run, arguments = std::move(arguments)] {
    run(extents, arguments.data(), threads_of_block());
  });
  return CUDA_SUCCESS;
}

// --- graphs ----------------------------------------------------------------------------------------------------------

CUresult stream_begin_capture(CUstream stream, CUstreamCaptureMode mode) {
  Stream& queue = queue_of("cuStreamBeginCapture", stream);
  if (const CUresult failure = machine().enter("cuStreamBeginCapture")) return failure;
  queue.begin_capture(mode);
  return CUDA_SUCCESS;
}

// Also of a capture that has failed, which ends here.
CUresult stream_end_capture(CUstream stream, CUgraph* graph) {
  std::unique_ptr<Graph> captured = queue_of("cuStreamEndCapture", stream).end_capture();
  const CUresult failure = machine().enter("cuStreamEndCapture");
  *graph = nullptr;
  if (failure) return failure;
  if (!captured) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  *graph = reinterpret_cast<CUgraph>(captured.release());
  return CUDA_SUCCESS;
}

CUresult thread_exchange_capture_mode(CUstreamCaptureMode* mode) {
  *mode = exchange_capture_mode(*mode);
  return machine().enter("cuThreadExchangeStreamCaptureMode");
}

CUresult graph_get_nodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  if (nodes) violation("cuGraphGetNodes: the stand-in only counts them");
  *count = from_handle<Graph>(graph)->size();
  return machine().enter("cuGraphGetNodes");
}

CUresult graph_instantiate(CUgraphExec* made, CUgraph graph, unsigned long long flags) {  // NOLINT(google-runtime-int)
  machine().needed("cuGraphInstantiateWithFlags");
  if (flags != 0) violation("cuGraphInstantiateWithFlags with flags that the stand-in does not know");
  if (const CUresult failure = machine().enter("cuGraphInstantiateWithFlags")) return failure;
  *made = reinterpret_cast<CUgraphExec>(new Graph(*from_handle<Graph>(graph)));
  return CUDA_SUCCESS;
}

CUresult graph_destroy(CUgraph graph) {
  delete from_handle<Graph>(graph);
  return machine().enter("cuGraphDestroy");
}

CUresult graph_launch(CUgraphExec graph, CUstream stream) {
  Stream& queue = queue_outside_of_capture("cuGraphLaunch", stream);
  if (const CUresult failure = machine().enter("cuGraphLaunch")) return failure;
  for (const Item& item : *from_handle<Graph>(graph)) queue.put(item.uses, item.work);
  return CUDA_SUCCESS;
}

// What was put on streams goes on.
CUresult graph_exec_destroy(CUgraphExec graph) {
  delete from_handle<Graph>(graph);
  return machine().enter("cuGraphExecDestroy");
}

template <class Function>
void* address(Function* function) noexcept {
  return reinterpret_cast<void*>(function);
}

const std::map<std::string, void*> kFunctions = {
    {"cuInit", address(init)},
    {"cuDriverGetVersion", address(driver_get_version)},
    {"cuGetErrorName", address(get_error_name)},
    {"cuGetErrorString", address(get_error_string)},
    {"cuDeviceGetCount", address(device_get_count)},
    {"cuDeviceGet", address(device_get)},
    {"cuDeviceGetAttribute", address(device_get_attribute)},
    {"cuDeviceGetName", address(device_get_name)},
    {"cuDeviceGetUuid", address(device_get_uuid)},
    {"cuDeviceTotalMem", address(device_total_mem)},
    {"cuDeviceCanAccessPeer", address(device_can_access_peer)},
    {"cuDevicePrimaryCtxRetain", address(device_primary_ctx_retain)},
    {"cuCtxPushCurrent", address(ctx_push_current)},
    {"cuCtxPopCurrent", address(ctx_pop_current)},
    {"cuCtxGetCurrent", address(ctx_get_current)},
    {"cuCtxEnablePeerAccess", address(ctx_enable_peer_access)},
    {"cuCtxSynchronize", address(ctx_synchronize)},
    {"cuMemAlloc", address(mem_alloc)},
    {"cuMemFree", address(mem_free)},
    {"cuMemGetInfo", address(mem_get_info)},
    {"cuMemHostAlloc", address(mem_host_alloc)},
    {"cuMemFreeHost", address(mem_free_host)},
    {"cuMemcpyHtoDAsync", address(memcpy_htod)},
    {"cuMemcpyDtoHAsync", address(memcpy_dtoh)},
    {"cuMemcpyDtoDAsync", address(memcpy_dtod)},
    {"cuMemcpyPeerAsync", address(memcpy_peer)},
    {"cuStreamCreateWithPriority", address(stream_create)},
    {"cuStreamQuery", address(stream_query)},
    {"cuStreamWaitEvent", address(stream_wait_event)},
    {"cuStreamWriteValue64", address(stream_write_value)},
    {"cuLaunchHostFunc", address(launch_host_func)},
    {"cuEventCreate", address(event_create)},
    {"cuEventRecord", address(event_record)},
    {"cuEventElapsedTime", address(event_elapsed_time)},
    {"cuStreamBeginCapture", address(stream_begin_capture)},
    {"cuStreamEndCapture", address(stream_end_capture)},
    {"cuThreadExchangeStreamCaptureMode", address(thread_exchange_capture_mode)},
    {"cuGraphGetNodes", address(graph_get_nodes)},
    {"cuGraphInstantiateWithFlags", address(graph_instantiate)},
    {"cuGraphDestroy", address(graph_destroy)},
    {"cuGraphLaunch", address(graph_launch)},
    {"cuGraphExecDestroy", address(graph_exec_destroy)},
    {"cuModuleLoadData", address(module_load_data)},
    {"cuModuleGetFunction", address(module_get_function)},
    {"cuModuleUnload", address(module_unload)},
    {"cuFuncSetAttribute", address(func_set_attribute)},
    {"cuLaunchKernel", address(launch_kernel)},
};

}  // namespace
}  // namespace stand_in

extern "C" [[gnu::visibility("default")]] CUresult cuGetProcAddress_v2(const char* symbol, void** function, int,
                                                                       cuuint64_t,
                                                                       CUdriverProcAddressQueryResult* status) {
  const auto known = stand_in::kFunctions.find(symbol);
  *function = known == stand_in::kFunctions.end() ? nullptr : known->second;
  if (status) *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
