// Whether the library has the functions that are asked for: what stands in for cuSOLVER, and, where the toolkit is, the
// real one (cmake/tests.cmake), which takes no GPU for that.
#if __has_include(<cusolverDn.h>)

#include "backend/cuda/solver_library.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(CudaSolverLibrary, HasEveryFunction) { EXPECT_NE(solver_library(), nullptr); }

}  // namespace
}  // namespace headrace

#endif
