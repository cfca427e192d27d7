#include "op/kernel_table.h"
#include "ops/image/flips.h"
#include "ops/random/generator.h"
#include "ops/random/host_draws_cuda.h"

namespace headrace {
namespace {

void flip_at_random_cuda(KernelContext& c, size_t axis, double p) {
  if (c.ticket() != kMtTicket) return copy_flipped(c, axis, is_flipped(c, p));
  draw_on_host_later(c, {&c.input(0), 1}, {&c.output(0), 1},
                     [axis, p](KernelContext& late) { flip_at_random(late, axis, p); });
}

}  // namespace

void add_flips_cuda(KernelTable& table) {
  table.set_part(flip_at_random, flip_at_random_cuda);
  table.set_own_kernels({"_image_random_flip_left_right", "_image_random_flip_top_bottom"});
}

}  // namespace headrace
