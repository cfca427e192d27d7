// The generators behind all operators that draw. Which one an operation uses, and where in its stream it begins, is
// fixed when the operation is issued.
//
// philox: each operation gets a key of its own, its ticket; element i depends on the key and i alone, so elements may
// be computed in any order by any number of threads. mt19937: MXNet's states. nd operators draw from up to 1024
// parallel states, np operators from one sequential state; operations take turns in the order of issue, through a Var
// for each kind.
#pragma once

#include <memory>
#include <vector>

#include "engine/var.h"
#include "headrace/random.hpp"
#include "op/op_def.h"
#include "op/rule.h"
#include "ops/random/mersenne_twister.h"

namespace headrace {

// Which of MXNet's states an operator draws from.
enum class Streams : uint8_t { kParallel, kSequential };

inline constexpr int64_t kMaxParallelStates = 1024;
inline constexpr int64_t kSamplesPerState = 64;

class MtStates {
 public:
  Var& var() noexcept { return var_; }
  // State number i, made at its first use. Only while writing var().
  MersenneTwister& at(size_t i);
  void seed(uint32_t word);

 private:
  Var var_;
  uint32_t seed_ = 0;
  std::vector<std::unique_ptr<MersenneTwister>> states_;
};

class Generators {
 public:
  // Takes part in `infer` so that the kernel may draw: a ticket for philox, an order for mt19937.
  void draw(Infer& infer, Streams streams);
  MtStates& states(Streams streams) noexcept { return streams == Streams::kParallel ? parallel_ : sequential_; }

  void set(random::Generator generator) noexcept { generator_ = generator; }
  random::Generator current() const noexcept { return generator_; }
  void seed(int64_t value);

 private:
  std::atomic<random::Generator> generator_{random::Generator::kPhilox};
  std::atomic<uint64_t> next_ticket_{first_ticket(0)};
  MtStates parallel_, sequential_;

  static uint64_t first_ticket(int64_t seed) noexcept;
};

Generators& generators();

// The ticket of operations that draw from mt19937.
inline constexpr uint64_t kMtTicket = 0;

}  // namespace headrace
