// What processes say of their job.
#include "distributed/verbosity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/distributed/cluster.h"

namespace headrace::distributed {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class VerbosityTest : public ClusterTest {
 protected:
  std::string said(Verbosity verbosity) {
    verbosity_ = verbosity;
    testing::internal::CaptureStderr();
    run(2, 1, false, [](kvstore::KVStore& store) {
      store.init("w", filled({4}, 0));
      store.push("w", {filled({4}, 2)});
      pulled(store, "w", {4});
    });
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(VerbosityTest, ProcessesAreQuiet) { EXPECT_THAT(said(Verbosity::kQuiet), IsEmpty()); }

TEST_F(VerbosityTest, WhoComesConnectsAndGoesIsSaid) {
  EXPECT_THAT(
      said(Verbosity::kNodes),
      AllOf(HasSubstr("scheduler: worker 1 has come\n"), HasSubstr("scheduler: server 0 at 127.0.0.1:"),
            HasSubstr("scheduler: the job begins with 2 workers and 1 servers\n"),
            HasSubstr("worker 1: it takes part in the job of the scheduler at 127.0.0.1:"),
            HasSubstr("worker 1: connected to the server at 127.0.0.1:"), HasSubstr("server: worker 1 has connected\n"),
            HasSubstr("scheduler: worker 1 has ended\n"), HasSubstr("server 0: worker 1 has ended\n"),
            Not(HasSubstr("was lost")), Not(HasSubstr("key 'w'"))));
}

TEST_F(VerbosityTest, MessagesAreSaidBesides) {
  EXPECT_THAT(said(Verbosity::kMessages),
              AllOf(HasSubstr("worker 0: sends request 2 to 127.0.0.1:"), HasSubstr(": push of key 'w', 16 bytes\n"),
                    HasSubstr(": takes request 2 of worker 0: push of key 'w', 16 bytes\n"),
                    HasSubstr(": answers request 2 of worker 0: 0 bytes\n"),
                    HasSubstr("worker 0: hears the answer to request 3 from 127.0.0.1:"),
                    HasSubstr("scheduler: worker 1 has come\n")));
}

}  // namespace
}  // namespace headrace::distributed
