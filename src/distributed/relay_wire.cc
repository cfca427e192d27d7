#include "distributed/relay_wire.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <thread>

#include "base/check.h"
#include "base/config.h"
#include "base/interruption.h"
#include "distributed/channel.h"
#include "distributed/long_waits.h"
#include "distributed/messages.h"
#include "distributed/processes.h"
#include "distributed/remote_store.h"

namespace headrace::distributed {

using collective::Lane;
using collective::TransferPtr;

namespace {

constexpr size_t kManyBytes = size_t{4} << 20;  // a server is told at once that it need not keep so many

size_t bytes_before(std::span<const size_t> sizes, int rank) {
  size_t bytes = 0;
  for (const size_t size : sizes.first(static_cast<size_t>(rank))) bytes += size;
  return bytes;
}

size_t all_bytes(std::span<const size_t> sizes) { return bytes_before(sizes, static_cast<int>(sizes.size())); }

// The elements, which have to be so many bytes, go to one place after the other.
void deal(const Elements& elements, std::span<const std::span<std::byte>> places) {
  size_t expected = 0;
  for (const std::span<std::byte> place : places) expected += place.size();
  check(elements.size() == expected, ErrorKind::kRuntime,
        "a server sent {} bytes where the other workers gave {}; all must run the same version", elements.size(),
        expected);
  Behind left(elements.pieces());
  for (const std::span<std::byte> place : places)
    left.take(place.size()).copy_to(reinterpret_cast<char*>(place.data()));
}

}  // namespace

// What has become of a request. `has_come` is set last.
struct RelayWire::Answer {
  grpc::Status status;
  Elements elements;
  std::atomic<bool> has_come{false};
};

class RelayWire::Transfer final : public collective::Transfer {
 public:
  // `wait`: until others, which their programs may not do; none: they do it by themselves.
  Transfer(RelayWire& wire, Lane lane, uint64_t number, size_t server, size_t bytes, std::shared_ptr<Answer> answer,
           Receive receive, std::optional<Standstill::Wait> wait)
      : wire_(wire),
        lane_(lane),
        number_(number),
        server_(server),
        bytes_(bytes),
        answer_(std::move(answer)),
        receive_(std::move(receive)),
        long_wait_([&session = wire.session_] {
          return fmt::format(
              "distributed: {} waits until the others make the calls that it makes; one may be in another part of the "
              "program",
              name_of_worker(session));
        }) {
    if (wait) waits_.emplace(wire.session_.standstill(), std::move(*wait));
  }

  bool is_done() override {
    if (is_done_) return true;
    if (!answer_->has_come.load(std::memory_order_acquire)) return false;
    waits_.reset();
    if (!answer_->status.ok()) raise();
    receive_(answer_->elements);
    wire_.done_[static_cast<size_t>(lane_)].note(number_);
    if (bytes_ + answer_->elements.size() >= kManyBytes) wire_.tell(server_);
    answer_->elements = {};
    return is_done_ = true;
  }

 private:
  // What is the reason of others says so itself.
  [[noreturn]] void raise() const {
    const grpc::Status& status = answer_->status;
    if (status.error_code() == grpc::StatusCode::ABORTED) fail(ErrorKind::kRuntime, "{}", status.error_message());
    fail(ErrorKind::kRuntime, "{}: {}", wire_.session_.name_of(server_), text_of(status));
  }

  RelayWire& wire_;
  const Lane lane_;
  const uint64_t number_;
  const size_t server_, bytes_;
  const std::shared_ptr<Answer> answer_;
  const Receive receive_;
  const LongWait long_wait_;
  std::optional<Standstill::Scope> waits_;
  bool is_done_ = false;
};

RelayWire::RelayWire(Session& session) : session_(session), rank_(session.rank()), size_(session.workers()) {
  check(!session.is_open(), ErrorKind::kRuntime,
        "distributed: workers come and go in this job (--elastic, of an asynchronous store), and exchanges are between "
        "workers that stay the same; share what they need by kv.create('dist_async'), or start the job without "
        "--elastic");
  find_machines();
}

RelayWire::~RelayWire() {
  std::vector<std::shared_ptr<Answer>> answers;
  for (size_t server = 0; server < session_.servers(); ++server) answers.push_back(ask(server, {}, {}));
  for (const std::shared_ptr<Answer>& answer : answers) answer->has_come.wait(false);
  tell_news({});
}

bool RelayWire::tell_news(std::function<void()> news) {
  std::lock_guard guard(news_->mutex);
  news_->tell = std::move(news);
  return true;
}

void RelayWire::find_machines() {
  const std::string process = own_process(), &name = config().machine;
  const std::string own =
      name.empty() ? process.substr(0, process.find(' ')) : name;  // the first word is the machine's
  std::vector<uint64_t> machines(static_cast<size_t>(size_));
  machines[static_cast<size_t>(rank_)] = std::hash<std::string>()(own);
  const std::vector<size_t> sizes(machines.size(), sizeof(uint64_t));
  const TransferPtr met = gather(Lane::kAgreement, reinterpret_cast<std::byte*>(machines.data()), sizes);
  while (!met->is_done()) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    if (const Interruptible::Check check = Interruptible::current()) check();
  }
  std::vector<int> of_ranks;
  for (const uint64_t machine : machines)
    of_ranks.push_back(static_cast<int>(std::ranges::find(machines, machine) - machines.begin()));
  machines_.emplace(of_ranks, rank_, false);
}

// --- requests --------------------------------------------------------------------------------------------------------

// A copy: what is repeated may be read when nobody waits any more.
Load RelayWire::load_of(size_t server, const Pieces& pieces) {
  size_t bytes = 0;
  for (const std::span<const std::byte> piece : pieces) bytes += piece.size();
  const auto copy_to = [&](char* place) {
    for (const std::span<const std::byte> piece : pieces) {
      if (!piece.empty()) std::memcpy(place, piece.data(), piece.size());
      place += piece.size();
    }
  };
  if (const BlockPtr block = session_.block_for(server, bytes)) {
    copy_to(block->data());
    return {.block = block, .bytes = bytes};
  }
  if (bytes == 0) return {};
  const std::shared_ptr<char[]> copy = std::make_shared_for_overwrite<char[]>(bytes);
  copy_to(copy.get());
  return {.elements = Elements(copy.get(), bytes, copy)};
}

std::shared_ptr<RelayWire::Answer> RelayWire::ask(size_t server, TransferRequest transfer, Load load, bool moves) {
  for (const uint64_t done : done_by_lane()) transfer.add_done(done);
  Request request;
  *request.mutable_transfer() = std::move(transfer);
  auto answer = std::make_shared<Answer>();
  session_.transfer(server, std::move(request), std::move(load), moves,
                    [answer, news = news_](const grpc::Status& status, Reply&&, Elements&& elements) {
                      answer->status = status;
                      answer->elements = std::move(elements);
                      answer->has_come.store(true, std::memory_order_release);
                      answer->has_come.notify_all();
                      std::lock_guard guard(news->mutex);
                      if (news->tell) news->tell();
                    });
  return answer;
}

RelayWire::Counts RelayWire::done_by_lane() const {
  Counts counts{};
  std::ranges::transform(done_, counts.begin(), [](const CompletedTransfers& done) { return done.below(); });
  return counts;
}

void RelayWire::tell(size_t server) { ask(server, {}, {}); }

void RelayWire::abort(const std::string& why) {
  for (size_t server = 0; server < session_.servers(); ++server) {
    TransferRequest transfer;
    transfer.set_failure(why);
    ask(server, std::move(transfer), {});
  }
}

// Its functions are called in another thread, maybe when the wire is not there any more.
Standstill::Wait RelayWire::wait_for(Lane lane, uint64_t number) const {
  const auto question = [lane, number, all_done = done_by_lane()] {
    Request request;
    TransferRequest& transfer = *request.mutable_transfer();
    transfer.set_lane(static_cast<uint32_t>(lane));
    transfer.set_number(number);
    transfer.set_asks(true);
    for (const uint64_t done : all_done) transfer.add_done(done);
    return request;
  };
  const auto arrive = [&session = session_, question] { return session.exchange_with_all("exchange", question()); };
  Standstill::Wait wait{"waits in an exchange (all_reduce, all_gather_object and the like) to which not all have come",
                        arrive};
  wait.awaited = [&session = session_, question, server = number % session_.servers()] {
    std::vector<Session::Call> calls{{.server = server, .request = question()}};
    return session.exchange("exchange", calls) ? ranks_in(calls[0].reply.answer()) : std::vector<uint32_t>();
  };
  wait.holds_program = false;
  wait.is_held = [waiting = waiting_] { return !waiting || *waiting > 0; };
  return wait;
}

// Transfers of a lane go to all servers in turn. What ranks agree on waits for calls of their programs, what they have
// agreed on does not.
TransferPtr RelayWire::begin(Lane lane, const Pieces& given, std::span<const size_t> sizes, Receive receive) {
  const uint64_t number = begun_[static_cast<size_t>(lane)]++;
  const size_t server = number % session_.servers();
  TransferRequest transfer;
  transfer.set_lane(static_cast<uint32_t>(lane));
  transfer.set_number(number);
  transfer.mutable_value();
  for (const size_t size : sizes) transfer.add_sizes(size);
  size_t bytes = 0;
  for (const std::span<const std::byte> piece : given) bytes += piece.size();
  const bool moves = lane != Lane::kAgreement;
  return std::make_unique<Transfer>(*this, lane, number, server, bytes,
                                    ask(server, std::move(transfer), load_of(server, given), moves), std::move(receive),
                                    moves ? std::nullopt : std::optional(wait_for(lane, number)));
}

// --- transfers -------------------------------------------------------------------------------------------------------

TransferPtr RelayWire::scatter(Lane lane, const std::byte* own, std::span<const size_t> sizes, std::byte* all) {
  const size_t part = sizes[static_cast<size_t>(rank_)], before = bytes_before(sizes, rank_);
  const Pieces given{{own, before}, {own + before + part, all_bytes(sizes) - before - part}};
  return begin(lane, given, sizes, [this, all, part](const Elements& elements) {
    const auto offset = static_cast<size_t>(rank_) * part;
    const std::span<std::byte> places[] = {{all, offset},
                                           {all + offset + part, static_cast<size_t>(size_ - rank_ - 1) * part}};
    deal(elements, places);
  });
}

TransferPtr RelayWire::gather(Lane lane, std::byte* all, std::span<const size_t> sizes) {
  const size_t part = sizes[static_cast<size_t>(rank_)], before = bytes_before(sizes, rank_);
  const size_t after = all_bytes(sizes) - before - part;
  return begin(lane, {{all + before, part}}, {}, [all, part, before, after](const Elements& elements) {
    const std::span<std::byte> places[] = {{all, before}, {all + before + part, after}};
    deal(elements, places);
  });
}

TransferPtr RelayWire::broadcast(std::byte* data, size_t size, int root) {
  std::vector<size_t> sizes(static_cast<size_t>(size_));
  sizes[static_cast<size_t>(root)] = size;
  return gather(Lane::kGather, data, sizes);
}

std::unique_ptr<collective::Wire> open_relay_wire() {
  const Job job = job_of_environment();
  check(
      job.joins || job.servers > 0, ErrorKind::kRuntime,
      "distributed: the job has no servers, through which its workers exchange arrays; start it with -s 1 or more, or "
      "its processes as ranks, by `python -m headrace.launch --mpi`");
  return std::make_unique<RelayWire>(Session::get("dist_sync", false));
}

}  // namespace headrace::distributed
