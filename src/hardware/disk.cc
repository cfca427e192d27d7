// Disk: random blocks of 4 KB and sequential pieces of 1 MB.
#include <fmt/format.h>

#include <random>

#include "hardware/probes.h"

namespace headrace::hardware {
namespace {

Effort disk_effort(const Workbench& bench) { return {bench.quick() ? 0.1 : 1.0, 1}; }

Figure typical(std::vector<double> seconds, const DiskFile& file) {
  std::string note = fmt::format("99 % within {}", value_text(percentile(seconds, 0.99), Unit::kSeconds));
  if (!file.note().empty()) note += "; " + file.note();
  return {median(std::move(seconds)), std::move(note)};
}

template <void (DiskFile::*kAccess)(size_t, size_t)>
Figure random_blocks(Workbench& bench) {
  DiskFile& file = bench.disk_file();
  file.forget();
  std::mt19937_64 random(1);
  return typical(sample(
                     disk_effort(bench),
                     [&] {
                       const size_t block = random() % (file.size() / DiskFile::kBlock);
                       (file.*kAccess)(block * DiskFile::kBlock, DiskFile::kBlock);
                     },
                     10, 2000),
                 file);
}

Figure sequential_read(Workbench& bench) {
  DiskFile& file = bench.disk_file();
  file.forget();
  size_t offset = 0;
  const int pieces = static_cast<int>(file.size() / DiskFile::kPiece);
  return typical(sample(
                     disk_effort(bench),
                     [&] {
                       file.read(offset, DiskFile::kPiece);
                       offset += DiskFile::kPiece;
                     },
                     5, pieces),  // once: a second time would find what the first left in caches
                 file);
}

}  // namespace

std::vector<Row> disk_rows() {
  return {
      {"disk_read_4k",
       "read 4 KB at random places",
       Unit::kSeconds,
       {"read 4 KB, NVMe SSD", "read 4 KB, SATA SSD", "random access, hard disk"},
       random_blocks<&DiskFile::read>},
      {"disk_read_1m",
       "read 1 MB, one after the other",
       Unit::kSeconds,
       {"read 1 MB, NVMe SSD", "read 1 MB, SATA SSD", "read 1 MB, hard disk"},
       sequential_read},
      {"disk_write_4k",
       "write 4 KB at random places",
       Unit::kSeconds,
       {"write 4 KB, NVMe SSD", "write 4 KB, SATA SSD"},
       random_blocks<&DiskFile::write>},
  };
}

}  // namespace headrace::hardware
