#include "distributed/etcd.h"

#include <gmock/gmock.h>

#include "tests/distributed/etcd.h"

namespace headrace::distributed {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

Etcd::Clock::time_point soon(milliseconds time = seconds(30)) { return Etcd::Clock::now() + time; }

TEST_F(EtcdTest, CarriesOutTransactionsWhereAllIsAsRequired) {
  Etcd etcd(job());
  etcdserverpb::TxnResponse response;
  Transaction first;
  first.require_made("a", 0);
  first.put("a", "1", 0);
  first.get("a");
  first.get_otherwise("b");
  ASSERT_TRUE(etcd.transact(first, response, soon()));
  EXPECT_TRUE(response.succeeded());
  EXPECT_EQ(found(response, 1)->value(), "1");
  const int64_t written_at = response.header().revision();
  EXPECT_EQ(found(response, 1)->create_revision(), written_at);
  ASSERT_TRUE(etcd.transact(first, response, soon()));
  EXPECT_FALSE(response.succeeded());
  EXPECT_EQ(found(response, 0), nullptr);
  Transaction second;
  second.require_written("a", written_at);
  second.remove("a");
  second.get("a");
  ASSERT_TRUE(etcd.transact(second, response, soon()));
  EXPECT_TRUE(response.succeeded());
  EXPECT_EQ(found(response, 1), nullptr);
}

TEST_F(EtcdTest, KeysGoWithTheirLeases) {
  Etcd etcd(job());
  int64_t lease = 0;
  ASSERT_TRUE(etcd.grant(seconds(60), lease, soon()));
  bool is_there = false;
  ASSERT_TRUE(etcd.renew(lease, is_there, soon()));
  EXPECT_TRUE(is_there);
  Transaction writing, reading;
  writing.put("a", "1", lease);
  reading.get("a");
  etcdserverpb::TxnResponse response;
  ASSERT_TRUE(etcd.transact(writing, response, soon()));
  ASSERT_TRUE(etcd.transact(reading, response, soon()));
  EXPECT_EQ(found(response, 0)->lease(), lease);
  ASSERT_TRUE(etcd.revoke(lease, soon()));
  ASSERT_TRUE(etcd.revoke(lease, soon()));
  ASSERT_TRUE(etcd.renew(lease, is_there, soon()));
  EXPECT_FALSE(is_there);
  ASSERT_TRUE(etcd.transact(reading, response, soon()));
  EXPECT_EQ(found(response, 0), nullptr);
}

TEST_F(EtcdTest, AsksTheNextMachineWhenOneDoesNotAnswer) {
  Job own = job();
  own.etcd.insert(own.etcd.begin(), address_of("127.0.0.1", free_port()));
  Etcd etcd(own);
  Transaction reading;
  reading.get("a");
  etcdserverpb::TxnResponse response;
  EXPECT_TRUE(etcd.transact(reading, response, soon()));
  kill();
  EXPECT_FALSE(etcd.transact(reading, response, soon(milliseconds(300))));
  EXPECT_THAT(etcd.trouble(), HasSubstr("127.0.0.1:"));
  start();
  EXPECT_TRUE(etcd.transact(reading, response, soon()));
  stop(true);
  EXPECT_FALSE(etcd.transact(reading, response, soon(milliseconds(300))));
  stop(false);
  EXPECT_TRUE(etcd.transact(reading, response, soon()));
}

TEST_F(EtcdTest, SaysWhatItRefuses) {
  Etcd etcd(job());
  etcdserverpb::TxnResponse response;
  Transaction large;
  large.put("a", std::string(1'700'000, 'x'), 0);
  try {
    etcd.transact(large, response, soon());
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("distributed: etcd at " + address() + " refuses"));
  }
  bool is_there = false;
  EXPECT_TRUE(etcd.renew(4711, is_there, soon()));
  EXPECT_FALSE(is_there);
}

// Until somebody makes room. What is there can be read.
TEST_F(EtcdTest, SaysThatItIsFull) {
  Etcd etcd(job());
  etcdserverpb::TxnResponse response;
  Transaction reading;
  reading.get("a");
  ASSERT_TRUE(etcd.transact(reading, response, soon()));
  const auto is_full = [&] { return etcd.trouble().find("space exceeded") != std::string::npos; };
  for (int i = 0; i < 100 && !is_full(); ++i) {
    Transaction writing;
    writing.put("a", std::string(1 << 19, static_cast<char>('a' + i % 26)), 0);
    etcd.transact(writing, response, soon(milliseconds(1000)));
  }
  EXPECT_TRUE(is_full()) << etcd.trouble();
  EXPECT_TRUE(etcd.transact(reading, response, soon()));
}

}  // namespace
}  // namespace headrace::distributed
