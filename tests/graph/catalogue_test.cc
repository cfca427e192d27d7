// Every operator of the catalogue, on the samples of its definition: in a graph it gives what it gives alone, or
// refuses to write in place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "graph/cached_op.h"
#include "graphs.h"

namespace headrace {
namespace {

using testing::HasSubstr;

NDArray sampled(const SampleArray& sample, uint64_t seed) {
  int64_t count = 1;
  for (int64_t extent : sample.shape) count *= extent;
  std::mt19937_64 random(seed);
  std::vector<double> values = sample.values;
  while (static_cast<int64_t>(values.size()) < count)
    values.push_back(sample.low + (sample.high - sample.low) * static_cast<double>(random() % 1000) / 1000);
  return cast_to(NDArray::from_host(values.data(), sample.shape, DType::kFloat64), sample.dtype);
}

TEST(Catalogue, OperatorsInGraphsGiveTheirBits) {
  for (const OpDef& op : catalogue().all()) {
    if (op.is_random) continue;
    for (size_t s = 0; s < op.samples.size(); ++s) {
      const Sample& sample = op.samples[s];
      SCOPED_TRACE(op.name + ", sample " + std::to_string(s));
      std::vector<NDArray> alone, inputs, variables;
      for (size_t i = 0; i < sample.inputs.size(); ++i) {
        alone.push_back(sampled(sample.inputs[i], i));
        inputs.push_back(sampled(sample.inputs[i], i));
        variables.push_back(Symbol::variable("x" + std::to_string(i)).outputs()[0]);
      }
      NodePtr node(new Node);
      node->op = &op;
      node->attrs = sample.attrs ? sample.attrs : op.default_attrs;
      node->inputs = variables;
      node->label = std::make_unique<NodeLabel>();
      std::vector<NDArray> expected, results, outputs;
      try {
        expected = invoke_all(op, node->attrs, alone);
        for (const NDArray& one : expected) one.wait_to_read();
      } catch (const Error&) {
        continue;
      }
      for (size_t k = 0; k < expected.size(); ++k) outputs.push_back(output_of(node.get(), static_cast<uint32_t>(k)));
      if (outputs.empty()) continue;
      try {
        results = CachedOp(Symbol(outputs))(inputs);
      } catch (const Error& error) {
        EXPECT_TRUE(op.compose) << error.what();
        EXPECT_THAT(error.what(), HasSubstr("in-place writes"));
        continue;
      }
      for (size_t k = 0; k < expected.size(); ++k) {
        EXPECT_EQ(results[k].shape(), expected[k].shape());
        EXPECT_EQ(results[k].dtype(), expected[k].dtype());
        EXPECT_TRUE(bytes_of(results[k]) == bytes_of(expected[k])) << "output " << k;
      }
      for (size_t i = 0; i < inputs.size(); ++i)
        EXPECT_TRUE(bytes_of(inputs[i]) == bytes_of(alone[i])) << "input " << i << " afterwards";
    }
  }
}

}  // namespace
}  // namespace headrace
