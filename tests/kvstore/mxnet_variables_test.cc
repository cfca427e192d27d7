// Variables of MXNet that change nothing.
#include "kvstore/mxnet_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace headrace::kvstore {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// With none of them set but those that a test sets.
class MxnetVariables : public testing::Test {
 protected:
  MxnetVariables() { unset_all(); }
  ~MxnetVariables() override { unset_all(); }

 private:
  static void unset_all() {
    for (const MxnetVariable& one : mxnet_variables()) unsetenv(one.name);
  }
};

TEST_F(MxnetVariables, AsMxnetHasThemAskForNothing) {
  EXPECT_THAT(texts_of_unheeded(), IsEmpty());
  for (const MxnetVariable& one : mxnet_variables()) setenv(one.name, one.usual, 1);
  EXPECT_THAT(texts_of_unheeded(), IsEmpty());
  setenv("MXNET_KVSTORE_USETREE", "", 1);
  EXPECT_THAT(texts_of_unheeded(), IsEmpty());
}

TEST_F(MxnetVariables, WhatAsksForSomethingElseIsNamed) {
  setenv("MXNET_KVSTORE_REDUCTION_NTHREADS", "1", 1);
  setenv("DMLC_PS_VAN_TYPE", "ibverbs", 1);
  EXPECT_THAT(texts_of_unheeded(),
              ElementsAre(AllOf(StartsWith("MXNET_KVSTORE_REDUCTION_NTHREADS=1 changes nothing: "),
                                HasSubstr("HEADRACE_WORKERS")),
                          AllOf(StartsWith("DMLC_PS_VAN_TYPE=ibverbs changes nothing: "), HasSubstr("gRPC"))));
}

}  // namespace
}  // namespace headrace::kvstore
