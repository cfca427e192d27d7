// The error that a call raises, for tests that look at its kind and its text.
#pragma once

#include <gtest/gtest.h>

#include "headrace/error.hpp"

namespace headrace::test {

template <class F>
Error raised_by(F&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was raised";
  return {ErrorKind::kRuntime, ""};
}

}  // namespace headrace::test
