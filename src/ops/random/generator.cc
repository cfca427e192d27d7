#include "ops/random/generator.h"

#include "base/check.h"
#include "engine/runtime.h"
#include "op/rule.h"

namespace headrace {

MersenneTwister& MtStates::at(size_t i) {
  if (states_.size() <= i) states_.resize(i + 1);
  if (!states_[i]) states_[i] = std::make_unique<MersenneTwister>(seed_ + static_cast<uint32_t>(i));
  return *states_[i];
}

void MtStates::seed(uint32_t word) {
  seed_ = word;
  states_.clear();
}

// Spreads seeds so far apart that the ticket sequences of two seeds do not meet (the finaliser of splitmix64).
uint64_t Generators::first_ticket(int64_t seed) noexcept {
  uint64_t z = static_cast<uint64_t>(seed) + 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

void Generators::draw(Infer& infer, Streams streams) {
  if (infer.is_abstract()) return;
  if (current() == random::Generator::kMt19937) {
    infer.also_writes(states(streams).var());
    infer.ticket(kMtTicket);
    return;
  }
  uint64_t ticket;
  do ticket = next_ticket_.fetch_add(1, std::memory_order_relaxed);
  while (ticket == kMtTicket);
  infer.ticket(ticket);
}

void Generators::seed(int64_t value) {
  next_ticket_.store(first_ticket(value), std::memory_order_relaxed);
  Var* writes[] = {&parallel_.var(), &sequential_.var()};
  uint32_t word = static_cast<uint32_t>(static_cast<uint64_t>(value) * 127u);
  runtime().engine.push({.name = "seed", .writes = writes}, [this, word] {
    parallel_.seed(word);
    sequential_.seed(word);
  });
}

Generators& generators() { return service<Generators>(); }

namespace random {

void set_generator(Generator generator) { generators().set(generator); }

void set_generator(std::string_view name) {
  check(name == "philox" || name == "mt19937", ErrorKind::kValue,
        "random.set_generator: '{}' is no generator; use 'philox' or 'mt19937'", name);
  set_generator(name == "philox" ? Generator::kPhilox : Generator::kMt19937);
}

Generator generator() noexcept { return generators().current(); }

void seed(int64_t value) { generators().seed(value); }

}  // namespace random
}  // namespace headrace
