// Choices of a formula that its parameters decide: a select whose condition reads no input need not be made for each
// element, nor what it does not choose be computed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "op/formula/expr.h"

namespace headrace {

// At most so many choices of a formula are decided; further ones are made element by element.
inline constexpr size_t kMostChoices = 3;

// The conditions of such choices, each once.
std::vector<Expr> conditions_on_parameters(const Formula& formula);

// Bit k: condition k holds for these parameters.
uint32_t decide(std::span<const Expr> conditions, std::span<const double> parameters) noexcept;

// The formula with its choices made as `decisions` say.
Formula with_decisions(const Formula& formula, std::span<const Expr> conditions, uint32_t decisions);

}  // namespace headrace
