#include "distributed/heap.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cstring>

#include "base/check.h"
#include "base/machine.h"

namespace headrace::distributed {
namespace {

constexpr size_t kMarkBytes = 32;
constexpr size_t kPage = 4096;                                     // blocks begin at multiples of it
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;  // what others have mapped stays there

// Of blocks that hold so many bytes: an eighth of a power of two more at most, so that there are few different ones.
size_t rounded(size_t bytes) {
  const size_t step = std::max(kPage, std::bit_floor(bytes) / 8);
  return (bytes + step - 1) / step * step;
}

}  // namespace

// --- own -------------------------------------------------------------------------------------------------------------

Block::~Block() { heap_->give_back(place_, bytes_); }
char* Block::data() const noexcept { return heap_->data_ + place_; }

std::shared_ptr<OwnHeap> OwnHeap::make() {
  const size_t size = static_cast<size_t>(physical_memory()) / 4 / kPage * kPage;
  std::string mark(kMarkBytes, '\0');
  if (size < 2 * kPage || getrandom(mark.data(), kMarkBytes, 0) != static_cast<ssize_t>(kMarkBytes)) return {};
  const int file = memfd_create("headrace", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return {};
  void* data = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(size)) == 0 && fcntl(file, F_ADD_SEALS, kSeals) == 0)
    data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (data == MAP_FAILED) {
    close(file);
    return {};
  }
  madvise(data, size, MADV_DONTFORK);
  std::memcpy(data, mark.data(), kMarkBytes);
  std::shared_ptr<OwnHeap> made(new OwnHeap(file, static_cast<char*>(data), size, std::move(mark)));
  made->end_ = kPage;
  return made;
}

OwnHeap::~OwnHeap() {
  munmap(data_, size_);
  close(file_);
}

BlockPtr OwnHeap::take(size_t bytes) {
  const size_t size = rounded(bytes);
  std::lock_guard guard(mutex_);
  uint64_t place = end_;
  std::vector<uint64_t>& places = freed_[size];
  if (!places.empty()) {
    place = places.back();
    places.pop_back();
  } else {
    if (size > size_ - end_) return {};
    end_ += size;
  }
  return std::make_shared<const Block>(shared_from_this(), place, size);
}

void OwnHeap::give_back(uint64_t place, size_t bytes) noexcept {
  std::lock_guard guard(mutex_);
  freed_[bytes].push_back(place);
}

Heap OwnHeap::description() const {
  Heap described;
  described.set_process(getpid());
  described.set_file(file_);
  described.set_size(size_);
  described.set_mark(mark_);
  return described;
}

// --- seen ------------------------------------------------------------------------------------------------------------

std::shared_ptr<const SeenHeap> SeenHeap::find(const Heap& description) {
  if (description.mark().size() != kMarkBytes || description.process() <= 0) return {};
  const std::string path = fmt::format("/proc/{}/fd/{}", description.process(), description.file());
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return {};
  const size_t size = description.size();
  struct stat status {};
  void* data = MAP_FAILED;
  const int seals = fcntl(file, F_GET_SEALS);
  if (seals >= 0 && (seals & kSeals) == kSeals && fstat(file, &status) == 0 && size >= kPage &&
      static_cast<uint64_t>(status.st_size) == size)
    data = mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_NORESERVE, file, 0);
  close(file);
  if (data == MAP_FAILED) return {};
  madvise(data, size, MADV_DONTFORK);
  std::shared_ptr<const SeenHeap> found(new SeenHeap(static_cast<const char*>(data), size));
  return std::memcmp(data, description.mark().data(), kMarkBytes) == 0 ? found : nullptr;
}

SeenHeap::~SeenHeap() { munmap(const_cast<char*>(data_), size_); }

const char* SeenHeap::at(uint64_t place, uint64_t bytes) const noexcept {
  return place <= size_ && bytes <= size_ - place ? data_ + place : nullptr;
}

}  // namespace headrace::distributed
