// Batches of sequences on the plug-in's GPUs, beside the host.
#include <gtest/gtest.h>

#include "tests/cuda/beside_host.h"

namespace headrace {
namespace {

void expect_sequences_as_on_host(const char* op, const NDArray& data, const NDArray& lengths, AttrsPtr attrs) {
  std::vector<NDArray> inputs{data};
  if (lengths.size() > 0) inputs.push_back(lengths);
  expect_as_on_host(inputs, [&](const std::vector<NDArray>& in) { return invoke_all(find_op(op), attrs, in)[0]; });
}

TEST(CudaSequencesSlow, OfEveryDTypeAndLength) {
  for (const DType dtype : kAllDTypes) {
    const NDArray data = varied({4, 5, 3}, dtype, 1), lengths = cast_to(array({0, 2, 9, 4, -1}), dtype);
    for (const char* op : {"SequenceMask", "SequenceLast", "SequenceReverse"})
      expect_sequences_as_on_host(op, data, lengths, attrs_of(find_op(op), {{"use_sequence_length", true}}));
    expect_sequences_as_on_host("SequenceMask", data, lengths,
                                attrs_of(find_op("SequenceMask"), {{"use_sequence_length", true}, {"value", 1.5}}));
    expect_sequences_as_on_host("_backward_SequenceLast", varied({5, 3}, dtype, 2), lengths,
                                attrs_of(find_op("_backward_SequenceLast"), {{"length", int64_t{4}}}));
  }
}

TEST(CudaSequencesSlow, OfAnyAxis) {
  const NDArray data = varied({5, 4, 2}, DType::kFloat32, 3), lengths = array({1, 2, 3, 4, 7});
  for (const char* op : {"SequenceMask", "SequenceLast", "SequenceReverse"}) {
    expect_sequences_as_on_host(op, data, lengths,
                                attrs_of(find_op(op), {{"use_sequence_length", true}, {"axis", int64_t{1}}}));
    expect_sequences_as_on_host(op, data, array({}), attrs_of(find_op(op), {{"axis", int64_t{1}}}));
  }
  expect_sequences_as_on_host(
      "_backward_SequenceLast", varied({5, 2}, DType::kFloat32, 4), lengths,
      attrs_of(find_op("_backward_SequenceLast"), {{"axis", int64_t{1}}, {"length", int64_t{4}}}));
}

TEST(CudaSequencesSlow, WithoutElements) {
  for (const char* op : {"SequenceMask", "SequenceLast", "SequenceReverse"})
    expect_sequences_as_on_host(op, varied({4, 0, 2}, DType::kFloat32, 5), array({}), find_op(op).default_attrs);
}

}  // namespace
}  // namespace headrace
