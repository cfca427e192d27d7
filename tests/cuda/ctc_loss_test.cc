// Connectionist temporal classification on the plug-in's GPUs, beside the host.
#include <gtest/gtest.h>

#include "tests/cuda/beside_host.h"

namespace headrace {
namespace {

// The loss and its gradient.
void expect_loss_as_on_host(const std::vector<NDArray>& inputs, std::initializer_list<NamedAttr> attrs) {
  const OpDef &loss = find_op("CTCLoss"), &gradient = find_op("_backward_ctc_loss");
  expect_as_on_host(inputs,
                    [&](const std::vector<NDArray>& in) { return invoke_all(loss, attrs_of(loss, attrs), in)[0]; });
  std::vector<NDArray> with_head{varied({inputs[0].shape()[1]}, inputs[0].dtype(), 1)};
  with_head.insert(with_head.end(), inputs.begin(), inputs.end());
  expect_as_on_host(with_head, [&](const std::vector<NDArray>& in) {
    return invoke_all(gradient, attrs_of(gradient, attrs), in)[0];
  });
}

// Labels with equal neighbours, equal elements apart, nothing, and one that does not fit.
NDArray labels() { return array({1, 2, 2, 1, 0, 0, 3, 1, 3, 2, 1, 3, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}, {4, 6}); }

TEST(CudaCtcLossSlow, OfEveryDType) {
  for (const DType dtype : kRealDTypes) expect_loss_as_on_host({varied({9, 4, 5}, dtype, 2), labels()}, {});
}

TEST(CudaCtcLossSlow, WithLengthsAndEitherBlank) {
  const NDArray scores = varied({9, 4, 5}, DType::kFloat32, 3);
  const NDArray times = array({9, 0, 4, 20}), lengths = cast_to(array({3, 0, 2, 9}), DType::kInt32);
  for (const char* blank : {"first", "last"}) {
    const std::string word = blank;
    expect_loss_as_on_host({scores, labels(), times, lengths},
                           {{"use_data_lengths", true}, {"use_label_lengths", true}, {"blank_label", word}});
    expect_loss_as_on_host({scores, labels(), times}, {{"use_data_lengths", true}, {"blank_label", word}});
    expect_loss_as_on_host({scores, labels(), lengths}, {{"use_label_lengths", true}, {"blank_label", word}});
  }
}

TEST(CudaCtcLossSlow, OfManyClassesAndLongLabels) {
  std::vector<float> label(2 * 140);
  for (size_t i = 0; i < label.size(); ++i) label[i] = static_cast<float>(1 + i * 7 % 299);
  expect_loss_as_on_host({varied({150, 2, 300}, DType::kFloat64, 4), array(label, {2, 140})}, {});
}

TEST(CudaCtcLossSlow, OfNothing) {
  expect_loss_as_on_host({varied({3, 0, 5}, DType::kFloat32, 5), varied({0, 2}, DType::kFloat32, 6)}, {});
}

TEST(CudaCtcLossSlow, LabelsThatAreNoClassesRaise) {
  const NDArray scores = as_in_context(varied({4, 2, 3}, DType::kFloat32, 7), kGpu0);
  const NDArray wrong = as_in_context(array({1, 2, 1, 3}, {2, 2}), kGpu0);
  try {
    as_in_context(call("CTCLoss", {scores, wrong}), {}).wait_to_read();
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kValue);
    EXPECT_NE(std::string(error.what()).find("labels must be classes from 0 to 2, got 3 in label 1"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace headrace
