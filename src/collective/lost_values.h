// Values of a call that could not be computed.
#pragma once

#include "collective/group.h"
#include "headrace/ndarray.hpp"
#include "ndarray/view.h"

namespace headrace::collective {

// The others are told that the call fails, and why.
inline void fail_without(const NDArray& values, Group& group, const RequestPtr& request) {
  CallFailure failure{ErrorKind::kRuntime, "its values were never computed"};
  try {
    if (const std::exception_ptr error = values.view()->storage()->var().error()) std::rethrow_exception(error);
  } catch (const Error& known) {
    failure = {known.kind(), known.what()};
  } catch (const std::exception& other) {
    failure.text = other.what();
  }
  group.fail(request, std::move(failure));
}

}  // namespace headrace::collective
