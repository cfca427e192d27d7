#include "headrace/rtc.hpp"

#include <cstring>
#include <limits>
#include <mutex>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/dtype_dispatch.h"
#include "device/registry.h"
#include "engine/runtime.h"
#include "op/invoke.h"
#include "op/kernel_signature.h"
#include "timeline/timeline.h"

namespace headrace::rtc {

// A source, and what it has become on the GPUs that were asked for. Who needs it while the compiler is at work waits.
class Code {
 public:
  explicit Code(KernelSource source) : source_(std::move(source)) { module_on({DeviceType::kGpu, 0}); }

  std::shared_ptr<const DeviceKernel> kernel_on(Device device, const std::string& name) {
    std::shared_ptr<const DeviceKernel> found = module_on(device)->find(name);
    check(
        found != nullptr, ErrorKind::kValue,
        "CudaModule: no kernel is named '{}'. Declare it extern \"C\", or tell its name in exports when the module is "
        "made.",
        name);
    return found;
  }

 private:
  std::shared_ptr<KernelModule> module_on(Device device) {
    Backend* const backend = backend_of(device.type);
    check(backend && backend->device_count() > 0, ErrorKind::kRuntime,
          "CudaModule: CUDA code is compiled for an NVIDIA GPU, and there is none. {}", why_gpus_are_unused());
    accelerator_of(device);  // raises where this one is not there
    const std::lock_guard guard(mutex_);
    std::shared_ptr<KernelModule>& module = modules_[device.id];
    if (!module) module = backend->compile(device.id, source_);
    check(
        module != nullptr, ErrorKind::kRuntime,
        "CudaModule: CUDA code is compiled for an NVIDIA GPU, but {} is simulated: write the operation with functions "
        "of np or nd, which run on every device",
        to_string(device));
    return module;
  }

  const KernelSource source_;
  std::mutex mutex_;
  std::unordered_map<int, std::shared_ptr<KernelModule>> modules_;  // guarded by mutex_
};

class CudaKernel::Declared {
 public:
  Declared(std::shared_ptr<Code> code, const std::string& name, std::vector<KernelParameter> parameters)
      : parameters_(std::move(parameters)), name_(name), code_(std::move(code)) {
    on({DeviceType::kGpu, 0});
  }

  std::span<const KernelParameter> parameters() const noexcept { return parameters_; }
  const std::string& name() const noexcept { return name_; }

  std::shared_ptr<const DeviceKernel> on(Device device) const {
    const std::lock_guard guard(mutex_);
    std::shared_ptr<const DeviceKernel>& kernel = kernels_[device.id];
    if (!kernel) kernel = code_->kernel_on(device, name_);
    return kernel;
  }

 private:
  const std::vector<KernelParameter> parameters_;
  const std::string name_;
  const std::shared_ptr<Code> code_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<int, std::shared_ptr<const DeviceKernel>> kernels_;  // guarded by mutex_
};

namespace {

unsigned extent_of(const std::string& name, const char* what, int64_t value, int64_t least, int64_t most) {
  check(value >= least && value <= most, ErrorKind::kValue, "{}: {} must be from {} to {}, got {}", name, what, least,
        most, value);
  return static_cast<unsigned>(value);
}

// The limits are those of all GPUs that CUDA knows.
LaunchExtents extents_of(const std::string& name, const Extents& grid, const Extents& block, int64_t shared_bytes) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max(), kMostBlocks = 65535, kMostThreads = 1024,
                    kMostDeep = 64;
  const LaunchExtents extents{.blocks = {extent_of(name, "grid_dims[0]", grid[0], 1, kMost),
                                         extent_of(name, "grid_dims[1]", grid[1], 1, kMostBlocks),
                                         extent_of(name, "grid_dims[2]", grid[2], 1, kMostBlocks)},
                              .threads = {extent_of(name, "block_dims[0]", block[0], 1, kMostThreads),
                                          extent_of(name, "block_dims[1]", block[1], 1, kMostThreads),
                                          extent_of(name, "block_dims[2]", block[2], 1, kMostDeep)},
                              .shared_bytes = extent_of(name, "shared_mem", shared_bytes, 0, kMost)};
  check(block[0] * block[1] * block[2] <= kMostThreads, ErrorKind::kValue,
        "{}: a block has at most {} threads, got {} x {} x {}", name, kMostThreads, block[0], block[1], block[2]);
  return extents;
}

// Fractions of numbers for integers are cut off.
template <class T, class Given>
T number_as(Given given, const std::string& name, size_t i) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    using Limits = std::numeric_limits<T>;
    bool fits = false;
    if constexpr (std::is_integral_v<Given>)
      fits = std::in_range<T>(given);
    else
      fits = given > static_cast<double>(Limits::min()) - 1 && given < static_cast<double>(Limits::max());
    check(fits, ErrorKind::kValue, "{}: argument {} is {}, which {} does not hold", name, i, given,
          dtype_name(dtype_of<T>()));
  }
  return static_cast<T>(given);
}

// One launch, with what it holds until it is over.
class Launch {
 public:
  Launch(const std::string& name, std::shared_ptr<const DeviceKernel> kernel, const LaunchExtents& extents)
      : name_(timeline::intern(name)), kernel_(std::move(kernel)), extents_(extents) {}

  void add_array(const NDArray& array, bool is_written) {
    places_.push_back({grow(sizeof(void*)), array.view(), is_written});
    Var* const var = &array.view()->storage()->var();
    reads_.push_back(var);  // of what it writes too: it may leave some of the elements
    if (is_written) writes_.push_back(var);
  }

  template <class T>
  void add(T number) {
    const size_t at = grow(sizeof number);
    std::memcpy(bytes_.data() + at, &number, sizeof number);
  }

  TaskSpec spec(Stream* stream) const {
    return {.name = name_, .reads = reads_, .writes = writes_, .cost_ns = Engine::kInlineCostNs, .stream = stream};
  }

  // On the launch thread.
  void run() {
    for (const Place& place : places_)
      if (place.is_written) place.view->storage()->begin_write(false);
    for (const Place& place : places_) {
      const void* const data = place.view->data();
      std::memcpy(bytes_.data() + place.at, &data, sizeof data);
    }
    kernel_->launch(extents_, bytes_);
  }

 private:
  struct Place {
    size_t at;  // of the address, among bytes_
    ViewPtr view;
    bool is_written;
  };

  // As compilers place members of this size.
  size_t grow(size_t bytes) {
    const size_t at = (bytes_.size() + bytes - 1) / bytes * bytes;
    bytes_.resize(at + bytes);
    return at;
  }

  const char* const name_;
  const std::shared_ptr<const DeviceKernel> kernel_;
  const LaunchExtents extents_;
  std::vector<std::byte> bytes_;
  std::vector<Place> places_;
  std::vector<Var*> reads_, writes_;
};

void add_number(Launch& launch, const std::string& name, size_t i, DType dtype, const Argument& argument) {
  const auto* const whole = std::get_if<int64_t>(&argument);
  const auto* const real = std::get_if<double>(&argument);
  check(whole || real, ErrorKind::kType, "{}: argument {} is expected to be a number, but is an array", name, i);
  dispatch(dtype, [&]<class T>() { launch.add(whole ? number_as<T>(*whole, name, i) : number_as<T>(*real, name, i)); });
}

// A row-major array that fits the parameter.
NDArray array_for(const std::string& name, size_t i, const KernelParameter& parameter, const Argument& argument,
                  Device device) {
  const NDArray* const array = std::get_if<NDArray>(&argument);
  check(array && *array, ErrorKind::kType,
        "{}: argument {} is expected to be an array, as its type has a star, but is a number", name, i);
  check_has_values(*array, name.c_str());
  check(array->storage_kind() == StorageKind::kDense, ErrorKind::kType,
        "{}: argument {} is sparse; kernels take dense arrays (tostype('default'))", name, i);
  check(array->dtype() == parameter.dtype, ErrorKind::kType, "{}: argument {} is expected to be of {}, but is of {}",
        name, i, dtype_name(parameter.dtype), dtype_name(array->dtype()));
  check(array->device() == device, ErrorKind::kValue,
        "{}: argument {} lies on {}, but the kernel is launched on {}; move it there (as_in_context)", name, i,
        to_string(array->device()), to_string(device));
  return contiguous(array->off_tape());
}

}  // namespace

CudaModule::CudaModule(std::string source, std::vector<std::string> options, std::vector<std::string> exports)
    : code_(std::make_shared<Code>(KernelSource{std::move(source), std::move(options), std::move(exports)})) {}

CudaKernel CudaModule::get_kernel(const std::string& name, std::string_view signature) const {
  return CudaKernel(std::make_shared<CudaKernel::Declared>(code_, name, parse_kernel_signature(signature)));
}

const std::string& CudaKernel::name() const noexcept { return declared_->name(); }

void CudaKernel::launch(const std::vector<Argument>& arguments, Device device, const Extents& grid,
                        const Extents& block, int64_t shared_bytes) const {
  const std::span<const KernelParameter> parameters = declared_->parameters();
  check(device.type == DeviceType::kGpu, ErrorKind::kValue, "{}: a CUDA kernel is launched on a GPU, not on {}", name(),
        to_string(device));
  check(arguments.size() == parameters.size(), ErrorKind::kType, "{}: {} arguments are expected, got {}", name(),
        parameters.size(), arguments.size());
  const auto launch =
      std::make_shared<Launch>(name(), declared_->on(device), extents_of(name(), grid, block, shared_bytes));
  std::vector<std::pair<NDArray, NDArray>> copies;  // what the kernel writes for arrays that are not packed
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].is_array) {
      const NDArray packed = array_for(name(), i, parameters[i], arguments[i], device);
      const NDArray& given = std::get<NDArray>(arguments[i]);
      launch->add_array(packed, !parameters[i].is_const);
      if (!parameters[i].is_const && packed.view() != given.view()) copies.emplace_back(given.off_tape(), packed);
    } else {
      add_number(*launch, name(), i, parameters[i].dtype, arguments[i]);
    }
  }
  runtime().engine.push(launch->spec(compute_stream(device)), [launch] { launch->run(); });
  for (const auto& [given, packed] : copies) copy_into(given, packed);
}

}  // namespace headrace::rtc
