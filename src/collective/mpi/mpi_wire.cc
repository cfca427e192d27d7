// MpiWire: a wire over MPI. Made, used and destroyed by one thread, which initialises MPI and finalises it.

#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "collective/mpi_library.h"
#include "collective/wire.h"

namespace headrace::collective {
namespace {

void check_mpi(int status, const char* what) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  fail(ErrorKind::kRuntime, "MPI: {}: {}", what, std::string_view(text, static_cast<size_t>(length)));
}

// The numbers of a transfer, which MPI reads until it is done.
struct Counts {
  explicit Counts(std::span<const size_t> sizes) {
    for (const size_t size : sizes) {
      offsets.push_back(offsets.empty() ? 0 : offsets.back() + counts.back());
      counts.push_back(static_cast<int>(size));
    }
  }
  // As many bytes from each.
  Counts(size_t ranks, size_t size) : Counts(std::vector<size_t>(ranks, size)) {}

  // Nothing from this rank, and the places of the others as they were.
  Counts without(int rank) && {
    counts[static_cast<size_t>(rank)] = 0;
    return std::move(*this);
  }

  std::vector<int> counts, offsets;
};

struct MpiTransfer final : Transfer {
  MpiTransfer(Counts sent_counts, Counts received_counts)
      : sent(std::move(sent_counts)), received(std::move(received_counts)) {}

  bool is_done() override {
    int done = 0;
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "a transfer");
    return done != 0;
  }

  const Counts sent, received;
  MPI_Request request = MPI_REQUEST_NULL;
};

class MpiWire final : public Wire {
 public:
  MpiWire() {
    int level = 0, begun = 0;
    MPI_Initialized(&begun);
    check(begun == 0, ErrorKind::kRuntime,
          "MPI was initialised by another library of this process, such as mpi4py; let Headrace do it");
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread");
    check(level >= MPI_THREAD_FUNNELED, ErrorKind::kRuntime, "MPI cannot be used in processes with threads");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm local = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &local),
              "MPI_Comm_split_type");
    MPI_Comm_rank(local, &local_rank_);
    MPI_Comm_size(local, &local_size_);
    MPI_Comm_free(&local);
    for (MPI_Comm& lane : lanes_) {
      check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &lane), "MPI_Comm_dup");
      MPI_Comm_set_errhandler(lane, MPI_ERRORS_RETURN);
    }
  }
  ~MpiWire() override {
    for (MPI_Comm& lane : lanes_) MPI_Comm_free(&lane);
    MPI_Finalize();
  }

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  int local_rank() const noexcept override { return local_rank_; }
  int local_size() const noexcept override { return local_size_; }

  TransferPtr scatter(const std::byte* own, std::span<const size_t> sizes, std::byte* all) override {
    auto made = std::make_unique<MpiTransfer>(Counts(sizes).without(rank_),
                                              Counts(sizes.size(), sizes[static_cast<size_t>(rank_)]).without(rank_));
    check_mpi(MPI_Ialltoallv(own, made->sent.counts.data(), made->sent.offsets.data(), MPI_BYTE, all,
                             made->received.counts.data(), made->received.offsets.data(), MPI_BYTE,
                             lane(Lane::kScatter), &made->request),
              "MPI_Ialltoallv");
    return made;
  }

  TransferPtr gather(Lane on, std::byte* all, std::span<const size_t> sizes) override {
    auto made = std::make_unique<MpiTransfer>(Counts({}), Counts(sizes));
    check_mpi(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, made->received.counts.data(),
                              made->received.offsets.data(), MPI_BYTE, lane(on), &made->request),
              "MPI_Iallgatherv");
    return made;
  }

  TransferPtr broadcast(std::byte* data, size_t size, int root) override {
    auto made = std::make_unique<MpiTransfer>(Counts({}), Counts({}));
    check_mpi(MPI_Ibcast(data, static_cast<int>(size), MPI_BYTE, root, lane(Lane::kGather), &made->request),
              "MPI_Ibcast");
    return made;
  }

  void abort(const std::string& why) override {
    std::fprintf(stderr, "headrace: rank %d ends the job: %s\n", rank_, why.c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::_Exit(1);
  }

 private:
  MPI_Comm lane(Lane lane) const { return lanes_[static_cast<size_t>(lane)]; }

  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
  std::array<MPI_Comm, kLanes> lanes_{};
};

std::unique_ptr<Wire> open_mpi_wire() { return std::make_unique<MpiWire>(); }

}  // namespace
}  // namespace headrace::collective

extern "C" __attribute__((visibility("default"))) const headrace::collective::MpiLibrary* headrace_mpi() {
  static constexpr headrace::collective::MpiLibrary library = {.open = headrace::collective::open_mpi_wire};
  return &library;
}
