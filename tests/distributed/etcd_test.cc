#include "distributed/etcd.h"

#include <gmock/gmock.h>

#include "tests/distributed/etcd.h"

namespace headrace::distributed {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

Etcd::Clock::time_point soon(milliseconds time = seconds(30)) { return Etcd::Clock::now() + time; }

// What transactions about one key have given.
struct Outcomes {
  bool is_made = false, is_made_again = true, is_removed = false;
  std::string value;                         // once it was made
  int64_t made_at = 0, written_at = -1;      // as the key has it; as the answer has it
  bool is_elsewhere = true, is_left = true;  // whether another key, and this one after its removal, is found
};

Outcomes outcomes_of(Etcd& etcd, const std::string& key) {
  Outcomes outcomes;
  etcdserverpb::TxnResponse response;
  Transaction first;
  first.require_made(key, 0);
  first.put(key, "1", 0);
  first.get(key);
  first.get_otherwise("another " + key);
  if (!etcd.transact(first, response, soon())) return outcomes;
  outcomes.is_made = response.succeeded();
  outcomes.written_at = response.header().revision();
  if (const auto* const there = outcomes.is_made ? found(response, 1) : nullptr) {
    outcomes.value = there->value();
    outcomes.made_at = there->create_revision();
  }
  if (!etcd.transact(first, response, soon())) return outcomes;
  outcomes.is_made_again = response.succeeded();
  if (!outcomes.is_made_again) outcomes.is_elsewhere = found(response, 0) != nullptr;
  Transaction second;
  second.require_written(key, outcomes.written_at);
  second.remove(key);
  second.get(key);
  if (!etcd.transact(second, response, soon())) return outcomes;
  outcomes.is_removed = response.succeeded();
  if (outcomes.is_removed) outcomes.is_left = found(response, 1) != nullptr;
  return outcomes;
}

// An attempt without an answer may have been carried out all the same, and the one after it finds what that has left.
// On a busy machine this happens: another key is taken until every attempt was answered.
TEST_F(EtcdTest, CarriesOutTransactionsWhereAllIsAsRequired) {
  Outcomes outcomes;
  bool is_disturbed = true;
  for (int number = 0; is_disturbed && number < 30; ++number) {
    Etcd etcd(job());
    const std::string untroubled = etcd.trouble();
    outcomes = outcomes_of(etcd, std::to_string(number));
    is_disturbed = etcd.trouble() != untroubled;
  }
  ASSERT_FALSE(is_disturbed);
  EXPECT_TRUE(outcomes.is_made);
  EXPECT_EQ(outcomes.value, "1");
  EXPECT_EQ(outcomes.made_at, outcomes.written_at);
  EXPECT_FALSE(outcomes.is_made_again);
  EXPECT_FALSE(outcomes.is_elsewhere);
  EXPECT_TRUE(outcomes.is_removed);
  EXPECT_FALSE(outcomes.is_left);
}

TEST(EtcdResponses, AreNotReadBeyondTheirEnd) {
  etcdserverpb::TxnResponse response;
  response.add_responses();
  EXPECT_EQ(found(response, 0), nullptr);
  EXPECT_THROW(found(response, 1), Error);
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
