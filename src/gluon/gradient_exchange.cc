#include "gluon/gradient_exchange.h"

#include "kvstore/buckets.h"

namespace headrace::gluon {

void exchange_gradients(kvstore::KVStore& store, std::span<const Exchanged> all) {
  std::vector<NDArray> gradients;
  for (const Exchanged& one : all) gradients.push_back(one.gradients[0]);
  for (const std::vector<size_t>& bucket : kvstore::buckets(gradients)) {
    std::vector<kvstore::Item> values, outs;
    for (size_t place : bucket) {
      values.push_back({all[place].key, all[place].gradients});
      outs.push_back({all[place].key, all[place].outs});
    }
    // What backward completes last, the next forward needs first.
    store.pushpull(values, outs, static_cast<int>(bucket.back()) - static_cast<int>(all.size()) + 1);
  }
}

}  // namespace headrace::gluon
