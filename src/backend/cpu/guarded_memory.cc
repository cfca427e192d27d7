#include "backend/cpu/guarded_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "base/machine.h"
#include "device/size_class.h"

namespace headrace {
namespace {

constexpr unsigned char kPattern = 0xA5;

constexpr size_t round_up(size_t bytes, size_t unit) noexcept { return (bytes + unit - 1) / unit * unit; }

// Where a block lies between its two closed pages.
struct Pages {
  unsigned char *begin, *end;  // the open pages
  unsigned char *block_begin, *block_end;

  Pages(unsigned char* open, size_t bytes) noexcept
      : begin(open),
        end(open + round_up(bytes, page_bytes())),
        block_begin(end - round_up(bytes, size_class::kGranule)),
        block_end(block_begin + bytes) {}

  static size_t mapped_bytes(size_t bytes) noexcept { return round_up(bytes, page_bytes()) + 2 * page_bytes(); }
};

void require_pattern(const unsigned char* from, const unsigned char* to, const unsigned char* block, size_t bytes) {
  const unsigned char* const written = std::find_if(from, to, [](unsigned char c) { return c != kPattern; });
  if (written == to) return;
  std::fprintf(stderr,
               "headrace: something wrote at byte %td of a block of %zu bytes of host memory "
               "(HEADRACE_MEMORY_GUARD, docs/adding-an-operator.md).\n",
               written - block, bytes);
  std::abort();
}

}  // namespace

void* guarded_allocate(size_t bytes) noexcept {
  const size_t mapped = Pages::mapped_bytes(bytes), page = page_bytes();
  void* const region = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) return nullptr;
  const Pages pages(static_cast<unsigned char*>(region) + page, bytes);
  if (mprotect(pages.begin, mapped - 2 * page, PROT_READ | PROT_WRITE) != 0) {
    munmap(region, mapped);
    return nullptr;
  }
  std::fill(pages.begin, pages.block_begin, kPattern);
  std::fill(pages.block_end, pages.end, kPattern);
  return pages.block_begin;
}

void guarded_release(void* block, size_t bytes) noexcept {
  const size_t page = page_bytes();
  const auto address = reinterpret_cast<uintptr_t>(block);
  const Pages pages(static_cast<unsigned char*>(block) - address % page, bytes);
  require_pattern(pages.begin, pages.block_begin, pages.block_begin, bytes);
  require_pattern(pages.block_end, pages.end, pages.block_begin, bytes);
  munmap(pages.begin - page, Pages::mapped_bytes(bytes));
}

}  // namespace headrace
