// Layers that MXNet put together for oneDNN before it saved a graph. Any thread.
#pragma once

#include <string_view>

#include "op/invoke.h"

namespace headrace {

// Whether a file's operator of this name is such a layer: a convolution or a dense layer with what follows it.
bool is_joined_layer(std::string_view op) noexcept;

// The last node of a graph that computes what such a layer does: its body, and where it was quantized, operators that
// take bytes to floats in front of it and back behind it. `node` has the layer's name, texts, body and inputs, as its
// file has them, and no operator; the result has its name. MXNetError: they do not belong together, or the layer was
// quantized without ranges.
NodePtr opened_layer(const Node& node, std::string_view op);

}  // namespace headrace
