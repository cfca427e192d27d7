#include <fmt/format.h>

#include "op/check_cuda.h"
#include "op/kernel_table.h"
#include "ops/detection/coding.cuh"
#include "ops/detection/coding.h"

namespace headrace {
namespace {

template <class Arguments>
void launch_coding(const char* function, const char* name, DType dtype, KernelGrid grid, const Arguments& arguments) {
  launch_cuda(
      {"ops/detection/coding.cuh", fmt::format("{}<{}, {}>", function, compute_name(dtype), element_name(dtype)), name},
      grid, arguments);
}

// The work fails when the stream has come to it and a sample is matched with what there is not.
void raise_wrong_match(KernelContext& c, int64_t refs) {
  const KernelGrid grid = check_grid(c.input(0).size);
  auto* const found = c.workspace<device::WrongMatch>(grid.blocks);
  const device::MatchCheckArguments arguments{c.input(0).data, c.input(1).data, found, c.input(0).size, refs};
  launch_coding("check_matches", "MatchCheckArguments", c.input(0).dtype, grid, arguments);
  raise_found(found, grid, [refs, name = std::string(c.name())](const device::WrongMatch& wrong) {
    fail_match(name.c_str(), wrong.match, refs);
  });
}

void encode_boxes_cuda(KernelContext& c) {
  const Tensor& to = c.output(0);
  if (to.size == 0) return;
  const int64_t refs = c.input(3).shape[1];
  raise_wrong_match(c, refs);
  const device::EncodeArguments arguments{.samples = c.input(0).data,
                                          .matches = c.input(1).data,
                                          .anchors = c.input(2).data,
                                          .refs = c.input(3).data,
                                          .means = c.input(4).data,
                                          .stds = c.input(5).data,
                                          .targets = to.data,
                                          .masks = c.output(1).data,
                                          .count = to.size / 4,
                                          .anchors_of_image = to.shape[1],
                                          .refs_of_image = refs};
  launch_coding("encode_boxes", "EncodeArguments", to.dtype, grid_of(arguments.count), arguments);
}

void decode_boxes_cuda(KernelContext& c, const DecodeAttrs& a) {
  const Tensor& to = c.output(0);
  if (to.size == 0) return;
  const device::DecodeArguments arguments{.data = c.input(0).data,
                                          .anchors = c.input(1).data,
                                          .to = to.data,
                                          .count = to.size / 4,
                                          .anchors_of_image = to.shape[1],
                                          .is_center = a.format == "center",
                                          .factors = {a.std0, a.std1, a.std2, a.std3},
                                          .clip = a.clip};
  launch_coding("decode_boxes", "DecodeArguments", to.dtype, grid_of(arguments.count), arguments);
}

}  // namespace

void add_coding_cuda(KernelTable& table) {
  table.set_part(encode_boxes, encode_boxes_cuda);
  table.set_part(decode_boxes, decode_boxes_cuda);
  table.set_own_kernels({"_contrib_box_encode", "_contrib_box_decode"});
}

}  // namespace headrace
