#include "distributed/etcd.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/check.h"
#include "distributed/channel.h"

namespace headrace::distributed {
namespace {

using etcdserverpb::Compare;

constexpr std::chrono::milliseconds kAttemptTime{700};  // after which another machine is asked
constexpr std::chrono::milliseconds kPause{50};         // when all have been

constexpr const char* kEtcdCertificates = "ETCDCTL_CACERT, ETCDCTL_CERT and ETCDCTL_KEY name files in PEM";
// What to check.
constexpr const char* kWhatOfTls =
    "that the certificates of etcd and of ETCDCTL_CERT have not expired (openssl x509 -noout -dates -in FILE), that "
    "ETCDCTL_CACERT has the authority of etcd's, which is made for this host, and that etcd demands none "
    "(ETCDCTL_CERT, ETCDCTL_KEY) or trusts the one that is named";
constexpr const char* kWhatOfPlain = "whether they want certificates (https://HOST:PORT)";

// Whether another machine, or another time, may answer otherwise.
bool may_pass(grpc::StatusCode code) {
  using enum grpc::StatusCode;
  return code == UNAVAILABLE || code == DEADLINE_EXCEEDED || code == CANCELLED || code == UNKNOWN || code == INTERNAL ||
         code == ABORTED || code == RESOURCE_EXHAUSTED || code == NOT_FOUND;
}

Compare& required(etcdserverpb::TxnRequest& request, const std::string& key, Compare::CompareTarget target) {
  Compare& compare = *request.add_compare();
  compare.set_result(Compare::EQUAL);
  compare.set_target(target);
  compare.set_key(key);
  return compare;
}

}  // namespace

Etcd::Etcd(const Job& job)
    : addresses_(job.etcd),
      credentials_(job.etcd_tls ? credentials_of(*job.etcd_tls, kEtcdCertificates)
                                : grpc::InsecureChannelCredentials()),
      what_of_tls_(job.etcd_tls ? kWhatOfTls : kWhatOfPlain),
      line_(open(addresses_[0])) {}

std::shared_ptr<Etcd::Line> Etcd::open(const std::string& address) const {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto channel = grpc::CreateCustomChannel(address, credentials_, arguments);
  return std::make_shared<Line>(Line{etcdserverpb::KV::NewStub(channel), etcdserverpb::Lease::NewStub(channel)});
}

bool Etcd::ask(const Attempt& attempt, Clock::time_point deadline) {
  for (size_t tried = 1; Clock::now() < deadline; ++tried) {
    std::unique_lock lock(mutex_);
    const std::shared_ptr<Line> line = line_;
    const std::string& address = addresses_[present_];
    lock.unlock();
    grpc::ClientContext context;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    context.AddMetadata("hasleader", "true");  // one that is cut off from the others says so at once
    const grpc::Status status = [&] {
      const TimeLimit limit(context, std::min(kAttemptTime, left));
      return attempt(*line, context);
    }();
    if (status.ok()) return true;
    check(may_pass(status.error_code()), ErrorKind::kRuntime,
          "distributed: etcd at {} refuses what it is asked for: {}", address, status.error_message());
    lock.lock();
    // The rest of the time may be too short for any answer.
    const bool is_cut_short = left < kAttemptTime && status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
    if (tried == 1 || !is_cut_short) trouble_ = fmt::format("{}: {}", address, status.error_message());
    if (line_ == line) {
      present_ = (present_ + 1) % addresses_.size();
      line_ = open(addresses_[present_]);
    }
    lock.unlock();
    if (tried % addresses_.size() == 0) std::this_thread::sleep_for(std::min(kPause, left));
  }
  return false;
}

bool Etcd::transact(const Transaction& transaction, etcdserverpb::TxnResponse& response, Clock::time_point deadline) {
  return ask([&](Line& one,
                 grpc::ClientContext& context) { return one.store->Txn(&context, transaction.request(), &response); },
             deadline);
}

bool Etcd::grant(std::chrono::seconds time, int64_t& lease, Clock::time_point deadline) {
  etcdserverpb::LeaseGrantRequest request;
  request.set_ttl(time.count());
  etcdserverpb::LeaseGrantResponse response;
  const bool is_granted =
      ask([&](Line& one, grpc::ClientContext& context) { return one.leases->LeaseGrant(&context, request, &response); },
          deadline);
  lease = response.id();
  return is_granted;
}

bool Etcd::renew(int64_t lease, bool& is_there, Clock::time_point deadline) {
  etcdserverpb::LeaseKeepAliveRequest request;
  request.set_id(lease);
  return ask(
      [&](Line& one, grpc::ClientContext& context) -> grpc::Status {
        const auto stream = one.leases->LeaseKeepAlive(&context);
        etcdserverpb::LeaseKeepAliveResponse response;
        const bool is_answered = stream->Write(request) && stream->WritesDone() && stream->Read(&response);
        context.TryCancel();
        const grpc::Status status = stream->Finish();
        if (!is_answered) return status.ok() ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "no answer") : status;
        is_there = response.ttl() > 0;
        return grpc::Status::OK;
      },
      deadline);
}

bool Etcd::revoke(int64_t lease, Clock::time_point deadline) {
  etcdserverpb::LeaseRevokeRequest request;
  request.set_id(lease);
  etcdserverpb::LeaseRevokeResponse response;
  return ask(
      [&](Line& one, grpc::ClientContext& context) -> grpc::Status {
        const grpc::Status status = one.leases->LeaseRevoke(&context, request, &response);
        return status.error_code() == grpc::StatusCode::NOT_FOUND ? grpc::Status::OK : status;
      },
      deadline);
}

std::string Etcd::trouble() const {
  std::lock_guard guard(mutex_);
  return fmt::format(
      "{}; check that most of its machines run and have space, that HEADRACE_ETCD (--etcd) names the addresses at "
      "which they serve clients, and {}",
      trouble_, what_of_tls_);
}

void Transaction::require_made(const std::string& key, int64_t revision) {
  required(request_, key, Compare::CREATE).set_create_revision(revision);
}

void Transaction::require_written(const std::string& key, int64_t revision) {
  required(request_, key, Compare::MOD).set_mod_revision(revision);
}

void Transaction::put(const std::string& key, const std::string& value, int64_t lease) {
  etcdserverpb::PutRequest& one = *request_.add_success()->mutable_request_put();
  one.set_key(key);
  one.set_value(value);
  one.set_lease(lease);
}

void Transaction::remove(const std::string& key) {
  request_.add_success()->mutable_request_delete_range()->set_key(key);
}

void Transaction::get(const std::string& key) { request_.add_success()->mutable_request_range()->set_key(key); }

void Transaction::get_otherwise(const std::string& key) {
  request_.add_failure()->mutable_request_range()->set_key(key);
}

const etcdserverpb::KeyValue* found(const etcdserverpb::TxnResponse& response, int operation) {
  check(
      operation < response.responses_size(), ErrorKind::kRuntime,
      "distributed: etcd has answered {} operations of a transaction where number {} was expected; does HEADRACE_ETCD "
      "(--etcd) name machines of an etcd that speaks the third version of its API?",
      response.responses_size(), operation);
  const auto& kvs = response.responses(operation).response_range().kvs();
  return kvs.empty() ? nullptr : &kvs[0];
}

}  // namespace headrace::distributed
