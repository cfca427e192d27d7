// headrace._core.distributed: exchanges between ranks; what a process is in its job, and what servers do.

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "distributed/commands.h"
#include "gil.h"
#include "headrace/distributed.hpp"
#include "updaters.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

// Calls command(number, set_updater, head, body), where set_updater(function) takes what kvstore.Store.set_updater
// does; kept_for(number, key), which gives (arrays, bytes), keep_for(number, key, arrays, bytes), and
// leaves_other_rows(number, key), which gives a bool.
class PythonProgram final : public distributed::ServerProgram {
 public:
  PythonProgram(nb::object command, nb::object kept_for, nb::object keep_for, nb::object leaves_other_rows)
      : command_(std::move(command)),
        kept_for_(std::move(kept_for)),
        keep_for_(std::move(keep_for)),
        leaves_other_rows_(std::move(leaves_other_rows)) {}

  std::string command(int number, kvstore::KVStore& store, int head, const std::string& body) override {
    const auto set_updater = [&store](nb::object function) { store.set_updater(updater_of(std::move(function))); };
    const nb::object answer =
        command_(number, nb::cpp_function(set_updater), head, nb::bytes(body.data(), body.size()));
    if (answer.is_none()) return {};
    const auto bytes = nb::cast<nb::bytes>(answer);
    return {bytes.c_str(), bytes.size()};
  }
  Kept kept_for(int number, const kvstore::Key& key) override {
    const auto [arrays, rest] = nb::cast<std::pair<nb::sequence, nb::bytes>>(kept_for_(number, python_key(key)));
    Kept kept{.rest = {rest.c_str(), rest.size()}};
    for (nb::handle array : arrays) kept.arrays.push_back(array_from(array));
    return kept;
  }
  void keep_for(int number, const kvstore::Key& key, const Kept& kept) override {
    nb::list arrays;
    for (const NDArray& array : kept.arrays) arrays.append(wrapped(array, false));
    keep_for_(number, python_key(key), arrays, nb::bytes(kept.rest.data(), kept.rest.size()));
  }
  bool leaves_other_rows(int number, const kvstore::Key& key) override {
    return nb::cast<bool>(leaves_other_rows_(number, python_key(key)));
  }
  void run(const std::function<void()>& work) override {
    const WithGil locked;
    work();
  }

 private:
  const nb::object command_, kept_for_, keep_for_, leaves_other_rows_;
};

std::span<const std::byte> bytes_of(const nb::bytes& object) {
  return {reinterpret_cast<const std::byte*>(object.c_str()), object.size()};
}

nb::bytes python_bytes(std::span<const std::byte> bytes) { return nb::bytes(bytes.data(), bytes.size()); }

// `exchange` of an array object, of the class of the object.
template <class Exchange>
nb::object exchanged(nb::handle object, const Exchange& exchange) {
  const NDArray array = array_from(object);
  return wrapped(outside_python([&] { return exchange(array); }), is_np(object.ptr()));
}

void bind_exchanges(nb::module_& m) {
  using namespace distributed;
  using Text = const std::string&;
  m.def("init", [] { outside_python([] { init(); }); });
  m.def("is_initialized", [] { return is_initialized(); });
  m.def("shutdown", [] { outside_python([] { shutdown(); }); });
  m.def("abandon", [](Text why) { outside_python([&] { abandon(why); }); });
  m.def("rank", [] { return outside_python([] { return rank(); }); });
  m.def("size", [] { return outside_python([] { return size(); }); });
  m.def("local_rank", [] { return outside_python([] { return local_rank(); }); });
  m.def("local_size", [] { return outside_python([] { return local_size(); }); });
  m.def("barrier", [] { outside_python([] { barrier(); }); });
  m.def("others_go_on", [] { return outside_python([] { return others_go_on(); }); });
  m.def("all_reduce", [](nb::handle array, Text reduction, Text name) {
    return exchanged(array, [&](const NDArray& value) { return all_reduce(value, reduction, name); });
  });
  m.def("reduce_scatter", [](nb::handle array, Text reduction, Text name) {
    return exchanged(array, [&](const NDArray& value) { return reduce_scatter(value, reduction, name); });
  });
  m.def("all_gather", [](nb::handle array, Text name) {
    return exchanged(array, [&](const NDArray& value) { return all_gather(value, name); });
  });
  m.def("broadcast", [](nb::handle array, int root, Text name) {
    return exchanged(array, [&](const NDArray& value) { return broadcast(value, root, name); });
  });
  m.def("broadcast_bytes", [](const nb::bytes& own, int root) {
    return python_bytes(outside_python([&] { return broadcast_bytes(bytes_of(own), root); }));
  });
  m.def("all_gather_bytes", [](const nb::bytes& own) {
    nb::list parts;
    for (const std::vector<std::byte>& part : outside_python([&] { return all_gather_bytes(bytes_of(own)); }))
      parts.append(python_bytes(part));
    return parts;
  });
}

}  // namespace

void bind_distributed(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("distributed", "Programs of several processes. Use headrace.distributed.");
  bind_exchanges(m);
  m.def("role", [] {
    const auto role = translated([] { return distributed::role_of_process(); });
    constexpr const char* kNames[] = {"", "worker", "server", "scheduler"};
    return kNames[static_cast<int>(role)];
  });
  nb::dict commands;  // heads by name
  for (const distributed::NamedCommand& one : distributed::kCommands) commands[one.name] = one.head;
  m.attr("commands") = commands;
  m.def("serve", [](nb::object command, nb::object kept_for, nb::object keep_for, nb::object leaves_other_rows) {
    PythonProgram program(std::move(command), std::move(kept_for), std::move(keep_for), std::move(leaves_other_rows));
    translated([&] {
      const WithoutGil unlocked;
      distributed::serve(program);
    });
  });
}

}  // namespace headrace::python
