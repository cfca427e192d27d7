// Inputs made from other inputs. What comes out follows from the arguments alone, so a seed gives the same inputs
// everywhere.
#pragma once

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"

namespace headrace::fuzz {

constexpr size_t kLongestInput = size_t{1} << 16;

// Calls with `input` cut at every byte, and with every number at which readers break in every place: in texts where a
// number stands, elsewhere at every byte, with 4 and 8 bytes in both orders.
void each_at_limits(std::string_view input, FunctionRef<void(const std::string&)> use);

// One of the corpus after one to four random changes.
std::string mutated(const std::vector<std::string>& corpus, std::mt19937_64& random);
// The same of a given input.
std::string mutated(std::string input, const std::vector<std::string>& corpus, std::mt19937_64& random);

}  // namespace headrace::fuzz
