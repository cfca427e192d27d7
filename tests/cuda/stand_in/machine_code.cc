#include "tests/cuda/stand_in/machine_code.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace stand_in {
namespace {

constexpr std::string_view kSharedMemory = ".nv.shared.", kInformation = ".nv.info";

// Attributes of kernels in a section kInformation: a format, a number, a size, and of these two words, which kernel and
// how many.
struct Attribute {
  uint8_t format, number;
  uint16_t bytes;
};
constexpr uint8_t kOfKernel = 4, kStackBytes = 0x12, kRegisters = 0x2f;

class Elf {
 public:
  explicit Elf(const void* image) : image_(static_cast<const char*>(image)) {
    header_ = at<Elf64_Ehdr>(0);
    for (unsigned i = 0; i < header_.e_shnum; ++i)
      sections_.push_back(at<Elf64_Shdr>(header_.e_shoff + size_t{i} * header_.e_shentsize));
  }

  const std::vector<Elf64_Shdr>& sections() const noexcept { return sections_; }
  std::string_view name(const Elf64_Shdr& section) const {
    return image_ + sections_[header_.e_shstrndx].sh_offset + section.sh_name;
  }
  // Of the symbol with this number.
  std::string symbol(uint32_t number) const {
    for (const Elf64_Shdr& table : sections_) {
      if (table.sh_type != SHT_SYMTAB) continue;
      const auto symbol = at<Elf64_Sym>(table.sh_offset + number * sizeof(Elf64_Sym));
      return image_ + sections_[table.sh_link].sh_offset + symbol.st_name;
    }
    return {};
  }
  template <class T>
  T at(size_t offset) const {
    T value;
    std::memcpy(&value, image_ + offset, sizeof value);
    return value;
  }

 private:
  const char* image_;
  Elf64_Ehdr header_;
  std::vector<Elf64_Shdr> sections_;
};

void read_attributes(const Elf& elf, const Elf64_Shdr& section, std::map<std::string, Resources>& resources) {
  const size_t end = section.sh_offset + section.sh_size;
  for (size_t at = section.sh_offset; at < end;) {
    const auto attribute = elf.at<Attribute>(at);
    at += sizeof attribute;
    if (attribute.format != kOfKernel) continue;  // what there is to say stands where others have their size
    if (attribute.number == kRegisters || attribute.number == kStackBytes) {
      Resources& of = resources[elf.symbol(elf.at<uint32_t>(at))];
      (attribute.number == kRegisters ? of.registers : of.stack_bytes) = elf.at<uint32_t>(at + sizeof(uint32_t));
    }
    at += attribute.bytes;
  }
}

}  // namespace

bool is_machine_code(const void* image) { return std::memcmp(image, ELFMAG, SELFMAG) == 0; }

std::map<std::string, Resources> resources_of(const void* machine_code) {
  std::map<std::string, Resources> resources;
  const Elf elf(machine_code);
  for (const Elf64_Shdr& section : elf.sections()) {
    const std::string_view name = elf.name(section);
    if (name == kInformation) read_attributes(elf, section, resources);
  }
  for (const Elf64_Shdr& section : elf.sections()) {
    const std::string_view name = elf.name(section);
    if (!name.starts_with(kSharedMemory)) continue;
    const auto known = resources.find(std::string(name.substr(kSharedMemory.size())));
    if (known != resources.end()) known->second.shared_bytes = static_cast<unsigned>(section.sh_size);
  }
  return resources;
}

}  // namespace stand_in
