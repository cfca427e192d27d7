// The exchange of gradients in a step of several devices.
#pragma once

#include <span>

#include "headrace/kvstore.hpp"

namespace headrace::gluon {

// The gradients of a parameter on all devices, and what receives their sum, or the parameter that the store updated.
struct Exchanged {
  kvstore::Key key;
  std::vector<NDArray> gradients, outs;
};

// Pushes and pulls all of them, given in the order in which backward completes them; returns at once. Small gradients
// share a call of the store. A store that updates gets all in one call: so it can reduce them in this order and update
// the parameters in the order of their keys.
void exchange_gradients(kvstore::KVStore& store, std::span<const Exchanged> all, bool updates);

}  // namespace headrace::gluon
