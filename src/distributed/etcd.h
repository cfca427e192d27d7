// Etcd: a store of small values on several machines, in which a transaction counts as a whole and after all before it.
// Any of its machines can be asked; one that does not answer is passed over. Any thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "distributed/etcd.grpc.pb.h"
#include "distributed/job.h"

namespace headrace::distributed {

class Transaction;

class Etcd {
 public:
  using Clock = std::chrono::steady_clock;

  // At the addresses of the job. Raises OSError where certificates cannot be read.
  explicit Etcd(const Job& job);

  // These ask until there is an answer or the deadline has come, false: then nobody knows whether the request was, or
  // will be, carried out. They raise RuntimeError, naming the address, for what another attempt would not change.
  bool transact(const Transaction& transaction, etcdserverpb::TxnResponse& response, Clock::time_point deadline);
  bool grant(std::chrono::seconds time, int64_t& lease, Clock::time_point deadline);
  // `is_there`: whether it was; one that was over stays so.
  bool renew(int64_t lease, bool& is_there, Clock::time_point deadline);
  bool revoke(int64_t lease, Clock::time_point deadline);

  // What was wrong with the last attempt that has failed, and what to check.
  std::string trouble() const;

 private:
  // A connection to one of the machines. One that has failed would wait for long before it tries again.
  struct Line {
    std::unique_ptr<etcdserverpb::KV::Stub> store;
    std::unique_ptr<etcdserverpb::Lease::Stub> leases;
  };
  using Attempt = std::function<grpc::Status(Line&, grpc::ClientContext&)>;

  std::shared_ptr<Line> open(const std::string& address) const;
  bool ask(const Attempt& attempt, Clock::time_point deadline);

  const std::vector<std::string> addresses_;
  const std::shared_ptr<grpc::ChannelCredentials> credentials_;
  const char* const what_of_tls_;  // is to be checked
  mutable std::mutex mutex_;
  size_t present_ = 0;          // which of them is asked; these: guarded by mutex_
  std::shared_ptr<Line> line_;  // to it
  std::string trouble_;
};

// What is done as a whole, where it is as required, and what is read otherwise.
class Transaction {
 public:
  // That a key was made, or written last, by the transaction with this revision; 0: that it is not there.
  void require_made(const std::string& key, int64_t revision);
  void require_written(const std::string& key, int64_t revision);
  void put(const std::string& key, const std::string& value, int64_t lease);
  void remove(const std::string& key);
  void get(const std::string& key);
  void get_otherwise(const std::string& key);
  const etcdserverpb::TxnRequest& request() const noexcept { return request_; }

 private:
  etcdserverpb::TxnRequest request_;
};

// What the operation of this number, a get, has found; null: the key is not there. Raises RuntimeError where the
// response has no such operation.
const etcdserverpb::KeyValue* found(const etcdserverpb::TxnResponse& response, int operation);

}  // namespace headrace::distributed
