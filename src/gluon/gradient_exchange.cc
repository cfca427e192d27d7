#include "gluon/gradient_exchange.h"

#include "kvstore/buckets.h"

namespace headrace::gluon {

void exchange_gradients(kvstore::KVStore& store, std::span<const Exchanged> all, bool updates) {
  std::vector<NDArray> gradients;
  for (const Exchanged& one : all) gradients.push_back(one.gradients[0]);
  std::vector<kvstore::Item> values, outs;
  for (const std::vector<size_t>& bucket : kvstore::buckets(gradients)) {
    for (size_t place : bucket) {
      values.push_back({all[place].key, all[place].gradients});
      outs.push_back({all[place].key, all[place].outs});
    }
    if (updates) continue;
    // What backward completes last, the next forward needs first.
    store.pushpull(values, outs, static_cast<int>(bucket.back()) - static_cast<int>(all.size()) + 1);
    values.clear();
    outs.clear();
  }
  if (updates) store.pushpull(values, outs, 0);
}

}  // namespace headrace::gluon
