#include "distributed/channel.h"

#include <climits>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/check.h"

namespace headrace::distributed {
namespace {

constexpr const char* kOwnCertificates = "HEADRACE_CERTIFICATES names a folder with ca.pem, cert.pem and key.pem";

TlsFiles files_in(const std::string& folder) {
  const std::filesystem::path path(folder);
  return {path / "ca.pem", path / "cert.pem", path / "key.pem"};
}

// Nothing of no file.
std::string content_of(const std::string& path, const std::string& named_by) {
  if (path.empty()) return {};
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  check(file.good(), ErrorKind::kOs, "distributed: '{}' cannot be read; {}", path, named_by);
  return text.str();
}

// The name that every certificate of a job is made for, whatever machine it is used on.
constexpr const char* kCertifiedName = "headrace";

constexpr int kLeastPingMs = 1000;

// For which gRPC may be late itself to say that a deadline has passed.
constexpr std::chrono::milliseconds kGrace{100};

// The scheduler is in a hurry where others can take the place of who is silent.
Pings pings_of_server(const Job& job) { return pings(job, job.role == Role::kScheduler && job.replicas > 1); }

// Frames hold several messages. gRPC counts in int; below 0: any size.
int most_received(const Limits& limits) {
  constexpr size_t kRoom = size_t{16} << 20;
  const size_t most = limits.message_bytes + kRoom;
  return most > INT_MAX ? -1 : static_cast<int>(most);
}

}  // namespace

Pings pings(const Job& job, bool is_in_a_hurry) {
  if (is_in_a_hurry) return {kLeastPingMs, kLeastPingMs};
  const int every_ms = std::max(kLeastPingMs, job.ping_ms > 0 ? job.ping_ms : job.silence_ms / 4);
  return {every_ms, std::max(kLeastPingMs, job.silence_ms / 2 - every_ms)};
}

std::string address_of(const std::string& host, int port) {
  return host.find(':') == host.npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

TimeLimit::TimeLimit(grpc::ClientContext& context, std::chrono::nanoseconds time) {
  context.set_deadline(in_time(time));
  waiting_ = std::thread([this, &context, until = std::chrono::steady_clock::now() + time + kGrace] {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, until, [this] { return is_over_; })) context.TryCancel();
  });
}

TimeLimit::~TimeLimit() {
  {
    std::lock_guard guard(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }
  waiting_.join();
}

gpr_timespec in_time(std::chrono::nanoseconds time) { return gpr_time_from_nanos(time.count(), GPR_TIMESPAN); }

std::shared_ptr<grpc::ChannelCredentials> credentials_of(const TlsFiles& files, const std::string& named_by) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = content_of(files.authorities, named_by);
  options.pem_cert_chain = content_of(files.certificate, named_by);
  options.pem_private_key = content_of(files.key, named_by);
  return grpc::SslCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> credentials_of(const std::string& folder) {
  return folder.empty() ? grpc::InsecureChannelCredentials() : credentials_of(files_in(folder), kOwnCertificates);
}

std::shared_ptr<grpc::Channel> open_channel(const Job& job, const std::string& address, bool has_others) {
  const auto [every_ms, answer_ms] = pings(job, has_others);
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, every_ms);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, answer_ms);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (!job.certificates.empty()) arguments.SetSslTargetNameOverride(kCertifiedName);
  return grpc::CreateCustomChannel(address, credentials_of(job.certificates), arguments);
}

std::unique_ptr<grpc::Server> serve_at(const Job& job, const std::string& host, int& port, grpc::Service& service) {
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
  if (!job.certificates.empty()) {
    grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    const TlsFiles files = files_in(job.certificates);
    options.pem_root_certs = content_of(files.authorities, kOwnCertificates);
    options.pem_key_cert_pairs.push_back(
        {content_of(files.key, kOwnCertificates), content_of(files.certificate, kOwnCertificates)});
    credentials = grpc::SslServerCredentials(options);
  }
  const std::string address = address_of(host, port);
  grpc::ServerBuilder builder;
  int chosen = 0;
  builder.AddListeningPort(address, credentials, &chosen);
  builder.RegisterService(&service);
  builder.SetMaxReceiveMessageSize(most_received(job.limits));
  builder.SetMaxSendMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a second job must not share the port
  const auto [every_ms, answer_ms] = pings_of_server(job);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, every_ms);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, answer_ms);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 500);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  check(server != nullptr && chosen != 0, ErrorKind::kOs,
        "distributed: the {} cannot listen at {}; another process has that port, or the machine is not that host",
        role_name(job.role), address);
  port = chosen;
  return server;
}

std::string text_of(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
      return status.error_message() + " (it cannot be reached: it has ended, or the network is cut)";
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return status.error_message() + " (HEADRACE_MAX_MESSAGE_MB is lower there)";
    default:
      return status.error_message();
  }
}

void raise_status(const grpc::Status& status, const std::string& what) {
  const bool is_callers = status.error_code() == grpc::StatusCode::INVALID_ARGUMENT;
  fail(is_callers ? ErrorKind::kValue : ErrorKind::kRuntime, "{}: {}", what, text_of(status));
}

}  // namespace headrace::distributed
