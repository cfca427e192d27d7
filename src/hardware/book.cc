// The figures of "Dive into Deep Learning", https://d2l.ai, section 12.4, tables 12.4.1 (latency numbers) and 12.4.2
// (GPUs of the Tesla series). The book took them from Eliot Eshelman's list,
// https://gist.github.com/eshelman/343a1c46cb3fba142c1afdcdeec17646.
#include "headrace/hardware.hpp"

namespace headrace::hardware {
namespace {

constexpr BookFigure kBook[] = {
    {"L1 cache hit", 1.5e-9, 1},
    {"floating-point add, multiply or FMA", 1.5e-9, 1},
    {"L2 cache hit", 5e-9, 1},
    {"branch mispredict", 6e-9, 1},
    {"L3 cache hit, unshared", 16e-9, 1},
    {"L3 cache hit, shared in another core", 25e-9, 1},
    {"mutex lock and unlock", 25e-9, 1},
    {"L3 cache hit, modified in another core", 29e-9, 1},
    {"L3 cache hit, remote socket", 40e-9, 1},
    {"hop to another socket", 40e-9, 1},
    {"64 MB memory, local", 46e-9, 1},
    {"64 MB memory, remote", 70e-9, 1},
    {"256 MB memory, local", 75e-9, 1},
    {"Optane random write", 94e-9, 1},
    {"256 MB memory, remote", 120e-9, 1},
    {"Optane random read", 305e-9, 1},
    {"send 4 KB, 100 Gbit/s fabric", 1e-6, 1},
    {"compress 1 KB, Snappy", 3e-6, 1},
    {"send 4 KB, 10 Gbit/s Ethernet", 10e-6, 1},
    {"write 4 KB, NVMe SSD", 30e-6, 1},
    {"1 MB to or from a GPU, NVLink", 30e-6, 1},
    {"1 MB to or from a GPU, PCIe", 80e-6, 1},
    {"read 4 KB, NVMe SSD", 120e-6, 1},
    {"read 1 MB, NVMe SSD", 208e-6, 1},
    {"write 4 KB, SATA SSD", 500e-6, 1},
    {"read 4 KB, SATA SSD", 500e-6, 1},
    {"round trip in a data centre", 500e-6, 1},
    {"read 1 MB, SATA SSD", 2e-3, 1},
    {"read 1 MB, hard disk", 5e-3, 1},
    {"random access, hard disk", 10e-3, 1},
    {"round trip California - Netherlands", 150e-3, 1},
    {"GPU shared memory", 30e-9, 2},
    {"GPU global memory", 200e-9, 2},
    {"GPU kernel launch", 10e-6, 2},
    {"Tesla: 1 MB to or from a GPU, NVLink", 30e-6, 2},
    {"Tesla: 1 MB to or from a GPU, PCIe", 80e-6, 2},
};

}  // namespace

std::span<const BookFigure> book() noexcept { return kBook; }

}  // namespace headrace::hardware
