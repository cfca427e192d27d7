// MpiWire: a wire over MPI. Made, used and destroyed by one thread, which initialises MPI and finalises it.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/config.h"
#include "collective/mpi_library.h"
#include "collective/wire.h"

namespace headrace::collective {
namespace {

constexpr int kNameBytes = 256;  // of a machine, with the zero at the end

// Has Open MPI send over TCP what belongs to one chunk of a sum (transfers.h) at once. Beyond its limit, of 64 KiB, a
// message waits for the receiver's consent, which comes behind what is queued on the link. Parameters that the user has
// set stay. Before MPI_Init, which reads them; other libraries of MPI do not know them.
void send_chunks_without_consent() {
  constexpr const char* kBytes = "1048576";
  constexpr int kKeep = 0;
  ::setenv("OMPI_MCA_btl_tcp_eager_limit", kBytes, kKeep);
  ::setenv("OMPI_MCA_btl_tcp_max_send_size", kBytes, kKeep);  // no less than the limit
}

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

  // Nothing at the place of this rank, and those of the others as they were.
  Counts without(size_t place) && {
    counts[place] = 0;
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
    send_chunks_without_consent();
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread");
    check(level >= MPI_THREAD_FUNNELED, ErrorKind::kRuntime, "MPI cannot be used in processes with threads");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    machines_.emplace(machines_of_ranks(), rank_);
    lanes_.fill(MPI_COMM_NULL);
    for (size_t lane = 0; lane < kLanes; ++lane) open_lane(static_cast<Lane>(lane));
  }
  ~MpiWire() override {
    for (MPI_Comm& lane : lanes_)
      if (lane != MPI_COMM_NULL) MPI_Comm_free(&lane);
    MPI_Finalize();
  }

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  const Machines& machines() const noexcept override { return *machines_; }

  TransferPtr scatter(Lane on, const std::byte* own, std::span<const size_t> sizes, std::byte* all) override {
    const size_t place = machines_->place(on);
    auto made =
        std::make_unique<MpiTransfer>(Counts(sizes).without(place), Counts(sizes.size(), sizes[place]).without(place));
    check_mpi(
        MPI_Ialltoallv(own, made->sent.counts.data(), made->sent.offsets.data(), MPI_BYTE, all,
                       made->received.counts.data(), made->received.offsets.data(), MPI_BYTE, lane(on), &made->request),
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

  // By rank, the first rank of its machine: of those that share memory, or that give the same name for it.
  std::vector<int> machines_of_ranks() const {
    MPI_Comm local = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &local),
              "MPI_Comm_split_type");
    int first = rank_;
    check_mpi(MPI_Bcast(&first, 1, MPI_INT, 0, local), "MPI_Bcast");
    MPI_Comm_free(&local);
    std::array<char, kNameBytes> own{};
    const std::string& name = config().machine;
    check(name.size() < own.size(), ErrorKind::kValue,
          "HEADRACE_MACHINE: expected a name of less than {} bytes, got {}", kNameBytes, name.size());
    std::ranges::copy(name.empty() ? fmt::format("\n{}", first) : name, own.begin());  // no name has a line break
    std::vector<std::array<char, kNameBytes>> names(static_cast<size_t>(size_));
    check_mpi(MPI_Allgather(own.data(), kNameBytes, MPI_CHAR, names.data(), kNameBytes, MPI_CHAR, MPI_COMM_WORLD),
              "MPI_Allgather");
    std::vector<int> machines;
    for (const auto& of_rank : names)
      machines.push_back(static_cast<int>(std::ranges::find(names, of_rank) - names.begin()));
    return machines;
  }

  void open_lane(Lane lane) {
    if (static_cast<size_t>(lane) >= kCommonLanes && !machines_->is_hierarchical()) return;
    const std::vector<int> members = machines_->members(lane);
    MPI_Comm& opened = lanes_[static_cast<size_t>(lane)];
    check_mpi(MPI_Comm_split(MPI_COMM_WORLD, members.empty() ? MPI_UNDEFINED : members.front(), rank_, &opened),
              "MPI_Comm_split");
    if (opened != MPI_COMM_NULL) MPI_Comm_set_errhandler(opened, MPI_ERRORS_RETURN);
  }

  int rank_ = 0, size_ = 1;
  std::optional<Machines> machines_;
  std::array<MPI_Comm, kLanes> lanes_;  // null: this rank does not use it
};

std::unique_ptr<Wire> open_mpi_wire() { return std::make_unique<MpiWire>(); }

}  // namespace
}  // namespace headrace::collective

extern "C" __attribute__((visibility("default"))) const headrace::collective::MpiLibrary* headrace_mpi() {
  static constexpr headrace::collective::MpiLibrary library = {.open = headrace::collective::open_mpi_wire};
  return &library;
}
