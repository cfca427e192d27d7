#include "ops/onednn_isa.h"

#include <gtest/gtest.h>

#include "op/invoke.h"
#include "ops/onednn.h"

namespace headrace {
namespace {

TEST(OneDnnInstructions, TilesThatAMachineHidesAreNotUsed) {
  onednn::cpu_engine();
  if (!onednn::hides_tiles() || std::getenv("ONEDNN_MAX_CPU_ISA")) GTEST_SKIP() << "this machine hides no tiles";
  EXPECT_EQ(dnnl::get_effective_cpu_isa(), dnnl::cpu_isa::avx512_core_fp16);
}

TEST(OneDnnInstructions, ProductsOfHalvesRunOnThisMachine) {
  for (DType dtype : {DType::kBfloat16, DType::kFloat16}) {
    const NDArray product = call("dot", {full({2, 31}, 1, dtype, {}), full({31, 48}, 1, dtype, {})});
    EXPECT_EQ(cast_to(product, DType::kFloat32).to_vector<float>(), std::vector<float>(96, 31));
  }
}

}  // namespace
}  // namespace headrace
