// Every operator of the catalogue, on the samples of its definition: in a graph it gives what it gives alone, or
// refuses to write in place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/cached_op.h"
#include "graphs.h"
#include "op/result_dtype.h"
#include "op/rule.h"
#include "op/trace.h"
#include "tests/support/operator_samples.h"

namespace headrace {
namespace {

using testing::HasSubstr;

using test::sampled;

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

AttrsPtr attrs_of(const OpDef& op, const Sample& sample) { return sample.attrs ? sample.attrs : op.default_attrs; }

// The dtypes of the sample's arrays, those of float32 exchanged.
std::vector<DType> dtypes_with(const Sample& sample, DType floats) {
  std::vector<DType> dtypes;
  for (const SampleArray& one : sample.inputs) dtypes.push_back(one.dtype == DType::kFloat32 ? floats : one.dtype);
  return dtypes;
}

// Of operators that look at values to know the shapes of their results.
std::vector<NDArray> results_of(const OpDef& op, const Sample& sample) {
  std::vector<NDArray> inputs;
  for (size_t i = 0; i < sample.inputs.size(); ++i) inputs.push_back(sampled(sample.inputs[i], i));
  ThreadState& state = thread_state();
  const bool tracing = std::exchange(state.tracing, false);
  std::vector<NDArray> results = invoke_all(op, attrs_of(op, sample), inputs);
  state.tracing = tracing;
  return results;
}

TEST(Catalogue, DTypesOfResultsFollowFromDTypes) {
  TraceScope scope(false);
  for (const OpDef& op : catalogue().all())
    for (size_t s = 0; s < op.samples.size(); ++s)
      for (DType floats : {DType::kFloat32, DType::kFloat16, DType::kFloat64, DType::kInt32, DType::kInt64,
                           DType::kUint8, DType::kBool}) {
        const Sample& sample = op.samples[s];
        const std::vector<DType> dtypes = dtypes_with(sample, floats);
        SCOPED_TRACE(op.name + ", sample " + std::to_string(s) + ", " + std::string(dtype_name(floats)));
        std::vector<NDArray> inputs, results;
        for (size_t i = 0; i < dtypes.size(); ++i)
          inputs.push_back(abstract_variable(sample.inputs[i].shape, dtypes[i]));
        try {
          results = invoke_all(op, attrs_of(op, sample), inputs);
        } catch (const ValuesUnknown&) {
          if (floats == DType::kFloat32) results = results_of(op, sample);
        } catch (const Error&) {  // not of these dtypes
        }
        for (size_t k = 0; k < results.size(); ++k)
          EXPECT_EQ(result_dtype(op, *attrs_of(op, sample), dtypes, k), results[k].dtype()) << "output " << k;
      }
}

// What is said of shapes when an extent is not known holds for the shapes that there are.
void expect_holds(const std::optional<Shape>& said, const Shape& shape, const std::string& what) {
  if (!said) return;
  ASSERT_EQ(said->size(), shape.size()) << what;
  for (size_t k = 0; k < shape.size(); ++k)
    if ((*said)[k] != -1) {
      EXPECT_EQ((*said)[k], shape[k]) << what << ", axis " << k;
    }
}

TEST(Catalogue, ShapesWithUnknownExtentsAreCompletedTruly) {
  TraceScope scope(false);
  for (const OpDef& op : catalogue().all()) {
    if (!op.complete) continue;
    for (size_t s = 0; s < op.samples.size(); ++s) {
      const Sample& sample = op.samples[s];
      const AttrsPtr attrs = attrs_of(op, sample);
      std::vector<NDArray> inputs, results;
      for (const SampleArray& one : sample.inputs) inputs.push_back(abstract_variable(one.shape, one.dtype));
      try {
        results = invoke_all(op, attrs, inputs);
      } catch (const ValuesUnknown&) {
        continue;
      }
      const auto check_with = [&](size_t which, size_t axis, bool with_results) {
        SCOPED_TRACE(op.name + ", sample " + std::to_string(s) + ", axis " + std::to_string(axis) + " of array " +
                     std::to_string(which));
        std::vector<std::optional<Shape>> known, outputs(results.size());
        for (const NDArray& input : inputs) known.push_back(input.shape());
        for (size_t k = 0; with_results && k < results.size(); ++k) outputs[k] = results[k].shape();
        std::optional<Shape>& open = which < known.size() ? known[which] : outputs[which - known.size()];
        if (axis < open->size())
          (*open)[axis] = -1;
        else if (op.name != "SoftmaxOutput" && op.name != "LeakyReLU")  // these take what is likely for true
          open.reset();
        Completion completion(op.name.c_str(), known, outputs);
        ASSERT_NO_THROW(op.complete(completion, *attrs));
        for (size_t i = 0; i < inputs.size(); ++i) expect_holds(known[i], inputs[i].shape(), "input");
        for (size_t k = 0; k < results.size(); ++k) expect_holds(outputs[k], results[k].shape(), "output");
      };
      for (size_t i = 0; i < inputs.size() + results.size(); ++i) {
        const Shape& shape = i < inputs.size() ? inputs[i].shape() : results[i - inputs.size()].shape();
        for (size_t axis = 0; axis <= shape.size(); ++axis) {
          if (i < inputs.size()) check_with(i, axis, false);
          check_with(i, axis, true);
        }
      }
    }
  }
}

}  // namespace
}  // namespace headrace
