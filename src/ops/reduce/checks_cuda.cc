#include <fmt/format.h>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/creation/creation.h"
#include "ops/reduce/checks.cuh"
#include "ops/reduce/checks.h"

namespace headrace {
namespace {

constexpr const char* kCheckHeader = "ops/reduce/checks.cuh";

void are_all_close_cuda(KernelContext& c, const CloseAttrs& t) {
  const Tensor &a = c.input(0), &to = c.output(0);
  fill(c, to, int64_t{1});
  if (a.size == 0) return;
  const device::CloseArguments arguments{a.data, c.input(1).data, to.as<uint8_t>(), a.size, t.equal_nan,
                                         t.rtol, t.atol};
  launch_cuda({kCheckHeader, fmt::format("are_all_close<{}>", element_name(a.dtype)), "CloseArguments"},
              grid_of(a.size), arguments);
}

void check_all_true_cuda(KernelContext& c, const std::string& message) {
  const Tensor &x = c.input(0), &to = c.output(0);
  fill(c, to, int64_t{1});
  if (x.size == 0) return;
  const device::AllTrueArguments arguments{x.as<const uint8_t>(), to.as<uint8_t>(), x.size};
  launch_cuda({kCheckHeader, "are_all_true", "AllTrueArguments"}, grid_of(x.size), arguments);
  read_on_host(to.data, 1,
               [message](const void* holds) { check_constraint(*static_cast<const uint8_t*>(holds) != 0, message); });
}

}  // namespace

void add_checks_cuda(KernelTable& table) {
  table.set_part(are_all_close, are_all_close_cuda);
  table.set_part(check_all_true, check_all_true_cuda);
  table.set_own_kernels({"_contrib_allclose", "_npx_constraint_check"});
}

}  // namespace headrace
