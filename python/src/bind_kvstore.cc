// headrace._core.kvstore: the key-value stores of the library.

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "gil.h"
#include "headrace/kvstore.hpp"
#include "kvstore/mxnet_variables.h"
#include "updaters.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

using namespace kvstore;

// nanobind's own handles would need the class's layout; a store is used through this one.
struct Store {
  std::unique_ptr<KVStore> store;
  KVStore* operator->() const { return store.get(); }
};

using Keys = std::vector<Key>;

std::vector<Item> items_of(const Keys& keys, const nb::list& arrays) {
  std::vector<Item> items;
  for (size_t i = 0; i < keys.size(); ++i) items.push_back({keys[i], arrays_from(arrays[i])});
  return items;
}

Combine combine_of(nb::handle function, bool np) {
  return [function = shared_reference(function.ptr()), np](const NDArray& a, const NDArray& b) {
    PythonCall python;
    return array_from(called(python, function.get(), wrapped(a, np), wrapped(b, np)));
  };
}

void bind_calls(nb::class_<Store>& c) {
  c.def("init", [](const Store& s, const Keys& keys, const nb::list& values) {
    const std::vector<Item> items = items_of(keys, values);
    outside_python([&] { s->init(items); });
  });
  c.def("replace", [](const Store& s, const Keys& keys, const nb::list& values) {
    const std::vector<Item> items = items_of(keys, values);
    outside_python([&] { s->replace(items); });
  });
  c.def("push", [](const Store& s, const Keys& keys, const nb::list& values, int priority) {
    const std::vector<Item> items = items_of(keys, values);
    outside_python([&] { s->push(items, priority); });
  });
  c.def("pull", [](const Store& s, const Keys& keys, const nb::list& outs, int priority) {
    const std::vector<Item> items = items_of(keys, outs);
    outside_python([&] { s->pull(items, priority); });
  });
  c.def("pushpull", [](const Store& s, const Keys& keys, const nb::list& values, const Keys& out_keys,
                       const nb::list& outs, int priority) {
    const std::vector<Item> pushed = items_of(keys, values), pulled = items_of(out_keys, outs);
    outside_python([&] { s->pushpull(pushed, pulled, priority); });
  });
  c.def("row_sparse_pull",
        [](const Store& s, const Keys& keys, const nb::list& outs, const nb::list& row_ids, int priority) {
          std::vector<std::vector<NDArray>> ids;
          for (nb::handle list : row_ids) ids.push_back(arrays_from(list));
          const std::vector<Item> items = items_of(keys, outs);
          outside_python([&] { s->row_sparse_pull(items, ids, priority); });
        });
}

void bind_servers(nb::class_<Store>& c) {
  c.def_prop_ro("has_servers", [](const Store& s) { return s->has_servers(); });
  c.def_prop_ro("lost_workers", [](const Store& s) { return s->lost_workers(); });
  c.def_prop_ro("has_joined", [](const Store& s) { return s->has_joined(); });
  c.def("send_command", [](const Store& s, int head, const nb::bytes& body) {
    const std::string_view text(body.c_str(), body.size());
    outside_python([&] { s->send_command(head, text); });
  });
  c.def("send_settings", [](const Store& s, const nb::bytes& body) {
    const std::string_view text(body.c_str(), body.size());
    outside_python([&] { s->send_settings(text); });
  });
  c.def("set_worker_state", [](const Store& s, const std::string& state) { s->set_worker_state(state); });
  c.def("ask_servers", [](const Store& s, int head, const std::vector<nb::bytes>& bodies) {
    std::vector<std::string> texts, answers;
    for (const nb::bytes& body : bodies) texts.emplace_back(body.c_str(), body.size());
    outside_python([&] { answers = s->ask_servers(head, texts); });
    std::vector<nb::bytes> given;
    given.reserve(answers.size());
    for (const std::string& answer : answers) given.emplace_back(answer.data(), answer.size());
    return given;
  });
  c.def_prop_ro("servers", [](const Store& s) { return s->servers(); });
  c.def_prop_ro("shares_updates", [](const Store& s) { return s->shares_updates(); });
  c.def("shares", [](const Store& s, const Key& key) {
    std::vector<std::tuple<size_t, int64_t, int64_t>> shares;
    translated([&] {
      for (const Share& share : s->shares(key)) shares.emplace_back(share.owner, share.begin, share.end);
    });
    return shares;
  });
  c.def("gather_shares", [](const Store& s, const Key& key, nb::handle share) {
    const NDArray given = array_from(share);
    return wrapped(outside_python([&] { return s->gather_shares(key, given); }), false);
  });
  c.def("keep_whole", [](const Store& s) { translated([&] { s->keep_whole(); }); });
}

}  // namespace

nb::object python_key(const Key& key) {
  if (const auto* number = std::get_if<int64_t>(&key)) return nb::int_(*number);
  const std::string& text = std::get<std::string>(key);
  return nb::bytes(text.data(), text.size());
}

Updater updater_of(nb::object function) {
  if (function.is_none()) return {};
  return [function = shared_reference(function.ptr())](std::span<const Update> updates) {
    PythonCall python;
    nb::list keys, reduced, stored;
    for (const Update& update : updates) {
      keys.append(python_key(update.key));
      reduced.append(wrapped(update.reduced, false));
      stored.append(wrapped(update.stored, false));
    }
    called(python, function.get(), keys, reduced, stored);
  };
}

void bind_kvstore(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("kvstore", "Key-value stores. Use headrace.kvstore.");
  nb::class_<Store> c(m, "Store", "A store of the library. Made by create().");
  bind_calls(c);
  c.def_prop_ro("type", [](const Store& s) { return s->type(); });
  c.def_prop_ro("rank", [](const Store& s) { return s->rank(); });
  c.def_prop_ro("num_workers", [](const Store& s) { return s->num_workers(); });
  c.def("is_capable", [](const Store& s, const std::string& capability) {
    return translated([&] { return s->is_capable(capability_of(capability)); });
  });
  c.def(
      "set_updater",
      [](const Store& s, nb::object function) { translated([&] { s->set_updater(updater_of(std::move(function))); }); },
      nb::arg("function").none());
  c.def("set_reduction", [](const Store& s, const std::string& name) { translated([&] { s->set_reduction(name); }); });
  c.def("set_reduction", [](const Store& s, nb::object function, bool np) {
    translated([&] { s->set_reduction(combine_of(std::move(function), np)); });
  });
  c.def("set_gradient_compression", [](const Store& s, double threshold) {
    translated([&] { s->set_gradient_compression({.threshold = threshold}); });
  });
  c.def("barrier", [](const Store& s) { outside_python([&] { s->barrier(); }); });
  c.def("others_go_on",
        [](const Store& s, const Key& key) { return outside_python([&] { return s->others_go_on(key); }); });
  c.def("agree_in", [](const Store& s, const std::string& what) { translated([&] { s->agree_in(what); }); });
  c.def("agree", [](const Store& s, const std::vector<bool>& flags) {
    std::vector<uint8_t> all(flags.begin(), flags.end());
    outside_python([&] { s->agree(all); });
    return std::vector<bool>(all.begin(), all.end());
  });
  bind_servers(c);
  m.def("create", [](const std::string& name, const std::string& strategy, const std::string& topology, int staleness) {
    return outside_python(
        [&] { return Store{create(name, {.strategy = strategy, .topology = topology, .staleness = staleness})}; });
  });
  m.def("sums_without_servers",
        [](const std::string& name) { return translated([&] { return sums_without_servers(name); }); });
  m.def("is_capable", [](const std::string& name, const std::string& capability) {
    return translated([&] { return is_capable(name, capability_of(capability)); });
  });
  m.def("kinds", [] {
    nb::dict d;
    for (const Kind& kind : kinds()) d[kind.name.c_str()] = kind.meaning;
    return d;
  });
  m.def("unheeded_variables", [] {
    nb::dict d;
    for (const MxnetVariable& one : mxnet_variables()) d[one.name] = one.usual;
    return d;
  });
}

}  // namespace headrace::python
