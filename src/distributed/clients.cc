#include "distributed/clients.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace headrace::distributed {

void Client::enter(const Greeting& greeting, std::shared_ptr<Connection> connection) {
  const Caller& caller = greeting.caller();
  std::lock_guard guard(mutex_);
  check(caller.incarnation() >= incarnation_, ErrorKind::kRuntime,
        "distributed: worker {} speaks as incarnation {}, but incarnation {} of it has come since and took its place; "
        "only the newest process of a rank is served",
        caller.rank(), caller.incarnation(), incarnation_);
  if (connection_) connection_->close();
  if (caller.incarnation() > incarnation_) begin_anew(caller.incarnation());
  const std::set<uint64_t> unanswered(caller.unanswered().begin(), caller.unanswered().end());
  std::erase_if(answers_, [&](const auto& answer) { return !unanswered.contains(answer.first); });
  if (std::exchange(takes_over_, false)) {
    last_ = caller.last();
    for (const uint64_t number : unanswered)
      if (!answers_.contains(number)) missing_.insert(number);
  }
  connection->begin(loans_);
  connection->hear(greeting);
  connection_ = std::move(connection);
}

void Client::begin_anew(uint64_t incarnation) {
  incarnation_ = incarnation;
  last_ = 0;
  early_.clear();
  waiting_.clear();
  answers_.clear();
  missing_.clear();
}

bool Client::is_latest(const Connection& connection) const {
  std::lock_guard guard(mutex_);
  return &connection == connection_.get();
}

bool Client::admit(const Request& request, const Connection& from) {
  std::unique_lock lock(mutex_);
  if (&from != connection_.get()) return false;
  const uint64_t number = request.number();
  const bool is_transfer = request.has_transfer();
  check(number <= last_ + 1 || is_transfer, ErrorKind::kRuntime,
        "distributed: request {} came, but those from {} on are not known here: this server is another than the one "
        "that they were sent to",
        number, last_ + 1);
  if (waiting_.contains(number)) return false;
  if (const auto found = answers_.find(number); found != answers_.end()) {
    const std::shared_ptr<Connection> connection = connection_;
    connection->send(found->second);
    lock.unlock();
    connection->flush();
    return false;
  }
  const bool is_missing = missing_.erase(number) > 0;
  if (number <= last_ && !is_missing && !is_transfer && request.what_case() != Request::kPull)
    return false;  // it was told that its answer has come
  if (number > last_) early_.insert(number);
  while (early_.erase(last_ + 1) > 0) ++last_;
  waiting_.insert(number);
  return true;
}

void Client::answer(uint64_t incarnation, Reply reply, Load load) {
  std::shared_ptr<Connection> connection;
  {
    std::lock_guard guard(mutex_);
    if (incarnation != incarnation_) return;
    waiting_.erase(reply.number());
    if (!reply.has_value()) answers_.emplace(reply.number(), reply);
    if (!connection_) return;
    connection = connection_;
    connection->send(std::move(reply), std::move(load));
  }
  connection->flush();
}

void Client::forget(const Frame& frame, const Connection& from) {
  std::lock_guard guard(mutex_);
  if (&from != connection_.get()) return;
  for (const uint64_t number : frame.answered()) answers_.erase(number);
}

Client::Served Client::served() const {
  std::lock_guard guard(mutex_);
  return {incarnation_, last_};
}

BlockPtr Client::block_for(size_t bytes) const {
  std::lock_guard guard(mutex_);
  return connection_ ? connection_->block_for(bytes) : nullptr;
}

uint64_t Client::owed() const {
  std::lock_guard guard(mutex_);
  uint64_t owed = last_ + 1;
  if (!waiting_.empty()) owed = std::min(owed, *waiting_.begin());
  if (!answers_.empty()) owed = std::min(owed, answers_.begin()->first);
  return owed;
}

void Client::follow(uint64_t incarnation, uint64_t owed) {
  std::lock_guard guard(mutex_);
  if (incarnation > incarnation_) begin_anew(incarnation);
  answers_.erase(answers_.begin(), answers_.lower_bound(owed));
}

Repeated Client::owed_answers() const {
  Repeated told;
  told.set_rank(rank_);
  told.set_owed(owed());
  std::lock_guard guard(mutex_);
  told.set_incarnation(incarnation_);
  for (const auto& [number, reply] : answers_) *told.add_answers() = reply;
  return told;
}

void Client::adopt(const Repeated& told) {
  std::lock_guard guard(mutex_);
  for (const Reply& reply : told.answers()) answers_.emplace(reply.number(), reply);
}

void Client::take_over() {
  std::lock_guard guard(mutex_);
  takes_over_ = true;
}

void Client::close() {
  std::lock_guard guard(mutex_);
  if (connection_) connection_->close();
  connection_.reset();
}

// --- all of them -----------------------------------------------------------------------------------------------------

void Clients::check_rank(uint32_t rank) const {
  check(rank < static_cast<uint32_t>(workers_), ErrorKind::kValue,
        "distributed: a worker of rank {} speaks, the job has {} workers", rank, workers_);
}

std::string Clients::text_of(const Client& client) {
  return is_primary(client) ? "its primary" : fmt::format("worker {}", client.rank());
}

std::shared_ptr<Client>& Clients::client_of(uint32_t rank) {
  std::shared_ptr<Client>& client = clients_[rank];
  if (!client) client = std::make_shared<Client>(rank, heap_, takes_over_);
  return client;
}

std::shared_ptr<Client> Clients::enter(const Greeting& greeting, std::shared_ptr<Connection> connection) {
  const Caller& caller = greeting.caller();
  std::lock_guard guard(mutex_);
  if (is_stopped_) throw NotServing("the server ends");
  if (caller.is_primary()) {
    check(!epoch_, ErrorKind::kRuntime,
          "distributed: epoch {} of the server is over: its backup serves in its place, in epoch {}", caller.epoch(),
          epoch_.value_or(0));
    client_of(kPrimary)->enter(greeting, std::move(connection));
    return client_of(kPrimary);
  }
  check_rank(caller.rank());
  if (!epoch_) throw NotServing("the server does not serve yet");
  if (caller.epoch() != *epoch_)
    throw NotServing(
        fmt::format("the worker knows epoch {} of the server, which is in epoch {}", caller.epoch(), *epoch_));
  const std::shared_ptr<Client> client = client_of(caller.rank());
  client->enter(greeting, std::move(connection));
  return client;
}

void Clients::check_listened_to(const Client& client, const Connection& connection) const {
  std::lock_guard guard(mutex_);
  if (is_stopped_) throw NotServing("the server ends");
  if (client.is_latest(connection)) return;
  check(!is_primary(client), ErrorKind::kRuntime,
        "distributed: the epoch of the server is over: its backup serves in its place, in epoch {}",
        epoch_.value_or(0));
  fail(ErrorKind::kRuntime,
       "distributed: a newer process of the same rank, or a later stream of this one, has taken its place");
}

void Clients::serve(uint64_t epoch, bool takes_over) {
  std::lock_guard guard(mutex_);
  epoch_ = epoch;
  takes_over_ = takes_over;
  if (!takes_over) return;
  for (const auto& [rank, client] : clients_)
    if (rank == kPrimary)
      client->close();
    else
      client->take_over();
}

void Clients::stop() {
  std::lock_guard guard(mutex_);
  is_stopped_ = true;
  for (const auto& [rank, client] : clients_) client->close();
}

std::vector<std::shared_ptr<Client>> Clients::workers() const {
  std::lock_guard guard(mutex_);
  std::vector<std::shared_ptr<Client>> all;
  for (const auto& [rank, client] : clients_)
    if (rank != kPrimary) all.push_back(client);
  return all;
}

std::shared_ptr<Client> Clients::followed(const Repeated& repeated) {
  check_rank(repeated.rank());
  std::lock_guard guard(mutex_);
  const std::shared_ptr<Client> client = client_of(repeated.rank());
  client->follow(repeated.incarnation(), repeated.owed());
  return client;
}

std::map<uint32_t, Client::Served> Clients::served() {
  std::lock_guard guard(mutex_);
  std::map<uint32_t, Client::Served> all;
  for (const auto& [rank, client] : clients_)
    if (rank != kPrimary) all.emplace(rank, client->served());
  return all;
}

}  // namespace headrace::distributed
