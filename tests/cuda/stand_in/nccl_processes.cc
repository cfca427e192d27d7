#include "tests/cuda/stand_in/nccl_processes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "tests/cuda/stand_in/machine.h"

namespace stand_in {
namespace {

constexpr size_t kPieceBytes = 64 << 10;
constexpr size_t kTextBytes = 40;

bool is_set(const char* name) { return std::getenv(name) != nullptr; }

}  // namespace

// Zeros at first.
struct Meeting {
  struct Seat {
    std::atomic<uint64_t> given, taken;  // so many pieces
    uint64_t number;                     // these: of the piece that was given last
    char name[kTextBytes];
    size_t count;
    int type, root;
    char device[kTextBytes];
    char piece[kPieceBytes];
  };
  std::atomic<uint64_t> size;
  std::atomic<uint64_t> come;  // a bit for each rank
  std::atomic<bool> is_stuck;
  std::array<Seat, kMostRanks> seats;
};

// A file without a name, which goes when the last process that has opened it does; this one does not close it.
std::string Processes::make_place() {
  const int file = ::memfd_create("headrace_stand_in", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, sizeof(Meeting)) != 0) violation("the stand-in gets no shared memory");
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file);
}

Processes::Processes(const std::string& place, size_t rank, size_t size, const std::string& device)
    : rank_(rank), size_(size) {
  if (size > kMostRanks || rank >= size) violation("ncclCommInitRankConfig of rank %zu of %zu", rank, size);
  const int file = ::open(place.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0)
    violation("ncclCommInitRankConfig with the id %s, which is none, or its process is gone", place.c_str());
  void* const found = ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (found == MAP_FAILED) violation("the stand-in gets no shared memory");
  ::close(file);
  meeting_ = static_cast<Meeting*>(found);
  uint64_t known = 0;
  if (!meeting_->size.compare_exchange_strong(known, size) && known != size)
    violation("ncclCommInitRankConfig of %zu ranks, but another rank has %zu", size, static_cast<size_t>(known));
  std::snprintf(meeting_->seats[rank].device, kTextBytes, "%s", device.c_str());
  if (meeting_->come.fetch_or(uint64_t{1} << rank) >> rank & 1)
    violation("ncclCommInitRankConfig of rank %zu, which is there", rank);
}

Processes::~Processes() { ::munmap(meeting_, sizeof(Meeting)); }

Result Processes::connected() const {
  if (meeting_->come != (uint64_t{1} << size_) - 1) return kInProgress;
  for (size_t rank = 0; rank < size_; ++rank)
    for (size_t other = 0; other < rank; ++other)
      if (std::string_view(meeting_->seats[rank].device) == meeting_->seats[other].device) return kInvalidUsage;
  return kSuccess;
}

bool Processes::is_stuck() const { return meeting_->is_stuck; }

bool Processes::await(const std::function<bool(size_t rank)>& has_come) const {
  for (size_t rank = 0; rank < size_; ++rank)
    while (!has_come(rank)) {
      if (is_aborted_) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  return true;
}

void Processes::check(uint64_t number, const Call& call) const {
  for (size_t rank = 0; rank < size_; ++rank) {
    const Meeting::Seat& seat = meeting_->seats[rank];
    if (seat.number == number && call.name == std::string_view(seat.name) && seat.count == call.count &&
        seat.type == call.type && seat.root == call.root)
      continue;
    violation("%s of %zu elements of type %d by rank %zu, but %s of %zu of type %d by rank %zu, or another root",
              call.name, call.count, call.type, rank_, seat.name, seat.count, seat.type, rank);
  }
}

bool Processes::exchange(uint64_t number, const Call& call, size_t bytes, const Read& read) {
  Meeting::Seat& own = meeting_->seats[rank_];
  std::vector<const char*> pieces;
  for (size_t rank = 0; rank < size_; ++rank) pieces.push_back(meeting_->seats[rank].piece);
  size_t begin = 0;
  do {
    const size_t size = std::min(bytes - begin, kPieceBytes);
    if (!await([&](size_t rank) { return meeting_->seats[rank].taken >= pieces_; })) return false;
    own.number = number;
    std::snprintf(own.name, kTextBytes, "%s", call.name);
    own.count = call.count;
    own.type = call.type;
    own.root = call.root;
    std::memcpy(own.piece, call.from + begin, size);
    own.given = ++pieces_;
    if (!await([&](size_t rank) { return meeting_->seats[rank].given >= pieces_; })) return false;
    check(number, call);
    read(begin, size, pieces);
    own.taken = pieces_;
    begin += size;
  } while (begin < bytes);
  return true;
}

void Processes::take_part(uint64_t number, const Call& call) {
  const char* const text = std::getenv("HEADRACE_STAND_IN_NCCL_STUCK");
  const bool is_stuck = text && number == std::strtoull(text, nullptr, 10);
  if (is_stuck) std::fprintf(stderr, "stand-in for NCCL: rank %zu waits in a call that one never comes to\n", rank_);
  if (is_stuck && rank_ + 1 == size_) {
    meeting_->is_stuck = !is_set("HEADRACE_STAND_IN_NCCL_SILENT");
    while (!is_aborted_) std::this_thread::sleep_for(std::chrono::microseconds(100));
    return;
  }
  const std::string_view name = call.name;
  const size_t item = size_of(call.type), own_bytes = call.count * item;
  if (name == "ncclBroadcast" || name == "ncclAllGather") {
    exchange(number, call, own_bytes, [&](size_t begin, size_t bytes, const std::vector<const char*>& pieces) {
      if (name == "ncclBroadcast")
        return std::memcpy(call.to + begin, pieces[static_cast<size_t>(call.root)], bytes), void();
      for (size_t rank = 0; rank < size_; ++rank) std::memcpy(call.to + rank * own_bytes + begin, pieces[rank], bytes);
    });
    return;
  }
  const bool is_scattered = name == "ncclReduceScatter";
  const size_t parts = is_scattered ? size_ : 1;
  std::vector<char> unwanted(kPieceBytes);
  Call part = call;
  for (size_t which = 0; which < parts; ++which, part.from += own_bytes) {
    const bool is_wanted = is_scattered ? which == rank_ : call.root == kAll || static_cast<size_t>(call.root) == rank_;
    const bool goes_on =
        exchange(number, part, own_bytes, [&](size_t begin, size_t bytes, const std::vector<const char*>& pieces) {
          std::vector<Call> calls;
          for (const char* const piece : pieces)
            calls.push_back({call.name, bytes / item, call.type, kAll, piece, unwanted.data()});
          if (is_wanted) calls[rank_].to = call.to + begin;
          add_up(calls);
        });
    if (!goes_on) return;
  }
}

}  // namespace stand_in
