// headrace._core.distributed: what a process is in its job, and what servers do.

#include <nanobind/stl/string.h>

#include "bindings.h"
#include "gil.h"
#include "headrace/distributed.hpp"
#include "updaters.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

// Calls command(number, set_updater, head, body), where set_updater(function) takes what kvstore.Store.set_updater
// does.
class PythonProgram final : public distributed::ServerProgram {
 public:
  explicit PythonProgram(nb::object command) : command_(std::move(command)) {}

  std::string command(int number, kvstore::KVStore& store, int head, const std::string& body) override {
    const auto set_updater = [&store](nb::object function) { store.set_updater(updater_of(std::move(function))); };
    const nb::object answer =
        command_(number, nb::cpp_function(set_updater), head, nb::bytes(body.data(), body.size()));
    if (answer.is_none()) return {};
    const auto bytes = nb::cast<nb::bytes>(answer);
    return {bytes.c_str(), bytes.size()};
  }
  void run(const std::function<void()>& work) override {
    const WithGil locked;
    work();
  }

 private:
  const nb::object command_;
};

}  // namespace

void bind_distributed(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("distributed", "Programs of several processes. Use headrace.kvstore.");
  m.def("role", [] {
    const auto role = translated([] { return distributed::role_of_process(); });
    constexpr const char* kNames[] = {"", "worker", "server", "scheduler"};
    return kNames[static_cast<int>(role)];
  });
  m.def("serve", [](nb::object command) {
    PythonProgram program(std::move(command));
    translated([&] {
      const WithoutGil unlocked;
      distributed::serve(program);
    });
  });
}

}  // namespace headrace::python
