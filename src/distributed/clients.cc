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
  if (caller.incarnation() > incarnation_) {
    incarnation_ = caller.incarnation();
    last_ = 0;
    waiting_.clear();
    answers_.clear();
  }
  const std::set<uint64_t> unanswered(caller.unanswered().begin(), caller.unanswered().end());
  std::erase_if(answers_, [&](const auto& answer) { return !unanswered.contains(answer.first); });
  connection->begin(loans_);
  connection->hear(greeting);
  connection_ = std::move(connection);
}

bool Client::is_latest(const Connection& connection) const {
  std::lock_guard guard(mutex_);
  return &connection == connection_.get();
}

bool Client::admit(const Request& request, const Connection& from) {
  std::lock_guard guard(mutex_);
  if (&from != connection_.get()) return false;
  const uint64_t number = request.number();
  check(number <= last_ + 1, ErrorKind::kRuntime,
        "distributed: request {} came, but those from {} on are not known here: this server is another than the one "
        "that they were sent to",
        number, last_ + 1);
  if (waiting_.contains(number)) return false;
  if (const auto found = answers_.find(number); found != answers_.end()) {
    connection_->send(found->second);
    return false;
  }
  if (number <= last_ && request.what_case() != Request::kPull) return false;  // it was told that its answer has come
  last_ = std::max(last_, number);
  waiting_.insert(number);
  return true;
}

void Client::answer(uint64_t incarnation, Reply reply, Load load) {
  std::lock_guard guard(mutex_);
  if (incarnation != incarnation_) return;
  waiting_.erase(reply.number());
  if (!reply.has_value()) answers_.emplace(reply.number(), reply);
  connection_->send(std::move(reply), std::move(load));
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
  return connection_->block_for(bytes);
}

std::shared_ptr<Client> Clients::enter(const Greeting& greeting, std::shared_ptr<Connection> connection) {
  const Caller& caller = greeting.caller();
  check(caller.rank() < static_cast<uint32_t>(workers_), ErrorKind::kValue,
        "distributed: a worker of rank {} speaks, the job has {} workers", caller.rank(), workers_);
  std::lock_guard guard(mutex_);
  std::shared_ptr<Client>& client = clients_[caller.rank()];
  if (!client) client = std::make_shared<Client>(caller.rank(), heap_);
  client->enter(greeting, std::move(connection));
  return client;
}

std::map<uint32_t, Client::Served> Clients::served() {
  std::lock_guard guard(mutex_);
  std::map<uint32_t, Client::Served> all;
  for (const auto& [rank, client] : clients_) all.emplace(rank, client->served());
  return all;
}

}  // namespace headrace::distributed
