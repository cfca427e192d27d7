// What it costs to give an accelerator work and data.
#include <string>
#include <utility>

#include "device/registry.h"
#include "hardware/probes.h"
#include "headrace/arithmetic.hpp"
#include "headrace/sim.hpp"

namespace headrace::hardware {
namespace {

constexpr Device kAccelerator{DeviceType::kGpu, 0};
constexpr int64_t kMegabyteOfFloats = (int64_t{1} << 20) / 4;

void need_accelerator() {
  if (device_count(DeviceType::kGpu) < 1) throw NotMeasured("no accelerator here");
}

// Times of simulated GPUs follow from what is declared of them and from the host's cores.
Figure figure(double seconds, std::string note = {}) {
  if (sim::options().gpus > 0)
    note += std::string(note.empty() ? "" : "; ") + "the GPU is simulated: no hardware is measured";
  return {seconds, std::move(note)};
}

NDArray array_there(const std::vector<float>& values) {
  return NDArray::from_host(values.data(), {static_cast<int64_t>(values.size())}, DType::kFloat32, kAccelerator);
}

Figure launch(Workbench& bench) {
  need_accelerator();
  const NDArray x = array_there({1});
  (x + 1).wait_to_read();  // prepares the kernel
  return figure(median(sample(bench.effort(), [&] { (x + 1).wait_to_read(); })), "y = x + 1, waiting for it");
}

Figure copy_there(Workbench& bench) {
  need_accelerator();
  const std::vector<float> values(kMegabyteOfFloats, 1.0f);
  return figure(median(sample(bench.effort(), [&] { array_there(values).wait_to_read(); })));
}

Figure copy_back(Workbench& bench) {
  need_accelerator();
  std::vector<float> values(kMegabyteOfFloats, 1.0f);
  const NDArray x = array_there(values);
  x.wait_to_read();
  return figure(median(sample(bench.effort(), [&] { x.copy_to_host(values.data()); })));
}

Figure access_there(Workbench&) {
  need_accelerator();
  throw NotMeasured("no operator consists of single accesses to an accelerator's memory");
}

}  // namespace

std::vector<Row> accelerator_rows() {
  constexpr Unit kTime = Unit::kSeconds;
  const std::vector<std::string_view> copies = {"1 MB to or from a GPU, NVLink", "1 MB to or from a GPU, PCIe",
                                                "Tesla: 1 MB to or from a GPU, NVLink",
                                                "Tesla: 1 MB to or from a GPU, PCIe"};
  return {
      {"gpu_launch", "start a kernel", kTime, {"GPU kernel launch"}, launch},
      {"gpu_copy_to_1m", "1 MB from the host to an accelerator", kTime, copies, copy_there},
      {"gpu_copy_from_1m", "1 MB from an accelerator to the host", kTime, copies, copy_back},
      {"gpu_shared_memory", "access to memory that a block shares", kTime, {"GPU shared memory"}, access_there},
      {"gpu_global_memory", "access to the accelerator's memory", kTime, {"GPU global memory"}, access_there},
  };
}

}  // namespace headrace::hardware
