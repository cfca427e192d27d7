// What tests of graphs share.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "graph/evaluate.h"
#include "graph/lower.h"
#include "graph/nodes.h"
#include "headrace/symbol.hpp"
#include "op/invoke.h"
#include "op/trace.h"
#include "tests/support/arrays.h"

namespace headrace {

inline Symbol var(const std::string& name, Symbol::Texts texts = {}) {
  return Symbol::variable(name, std::move(texts));
}

// The lowered graph of what `body` computes of variables with these shapes.
inline Lowered traced(const std::vector<Shape>& shapes,
                      const std::function<std::vector<NDArray>(const std::vector<NDArray>&)>& body,
                      DType dtype = DType::kFloat32, bool training = false) {
  TraceScope scope(training);
  std::vector<NDArray> inputs;
  for (const Shape& shape : shapes) inputs.push_back(abstract_variable(shape, dtype));
  return lower(inputs, body(inputs));
}

}  // namespace headrace
