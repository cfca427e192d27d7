// Saving, loading and pickling arrays; DLPack.

#include "base/check.h"
#include "bindings.h"
#include "dlpack.h"
#include "gil.h"
#include "ndarray/serialize.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

nb::object to_python(NamedArrays loaded, bool np) {
  nb::list arrays, names;
  for (NDArray& array : loaded.arrays) arrays.append(wrapped(std::move(array), np));
  for (const std::string& name : loaded.names) {
    PyObject* text = PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "surrogateescape");
    if (!text) throw nb::python_error();
    names.append(nb::steal(text));
  }
  return nb::make_tuple(arrays, names);
}

std::vector<std::string> names_from(nb::handle names) {
  std::vector<std::string> result;
  for (nb::handle name : names) {
    nb::object bytes = nb::borrow(name).attr("encode")("utf-8", "surrogateescape");
    result.emplace_back(PyBytes_AS_STRING(bytes.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr())));
  }
  return result;
}

}  // namespace

void bind_files(nb::module_& m) {
  m.def(
      "save",
      [](const char* path, nb::handle arrays, nb::handle names) {
        translated([&] {
          std::vector<NDArray> values = arrays_from(arrays);
          bool np = false;
          for (nb::handle one : arrays) np |= is_np(one.ptr());
          for (const NDArray& value : values)
            if (!wait_to_read(value)) throw nb::python_error();
          std::vector<std::string> texts = names_from(names);
          const WithoutGil unlocked;
          save_arrays(path, values, texts, np);
          return 0;
        });
      },
      "Writes arrays, with names or without, in MXNet's format.");
  m.def(
      "load",
      [](const char* path, bool np) {
        return translated([&] {
          NamedArrays loaded;
          {
            const WithoutGil unlocked;
            loaded = load_arrays(path);
          }
          return to_python(std::move(loaded), np);
        });
      },
      "(arrays, names) of a file in MXNet's format.");
  m.def("load_frombuffer", [](nb::bytes data, bool np) {
    return translated([&] { return to_python(parse_arrays({data.c_str(), data.size()}), np); });
  });
  m.def(
      "to_record",
      [](nb::handle array, bool np) {
        return translated([&] {
          std::string record = serialize_record(array_from(array), np);
          return nb::bytes(record.data(), record.size());
        });
      },
      "The array as a bare record, as pickles hold it.");
  m.def("set_from_record", [](nb::handle array, nb::bytes record) {
    translated([&] {
      array_from(array);
      NDArray parsed = parse_record({record.c_str(), record.size()}, nullptr);
      array_of(array.ptr()) = parsed ? parsed : NDArray::empty({0});
      return 0;
    });
  });
}

void bind_dlpack(nb::module_& m) {
  m.def(
      "to_dlpack", [](nb::handle array) { return translated([&] { return nb::steal(to_dlpack(array_from(array))); }); },
      "A DLPack capsule over the array's memory.");
  m.def(
      "dlpack_device",
      [](nb::handle array) {
        return translated([&] {
          const DlDevice device = dlpack_device(array_from(array).device());
          return nb::make_tuple(device.type, device.id);
        });
      },
      "DLPack's numbers for the place of the array.");
  m.def(
      "from_dlpack",
      [](nb::handle capsule, bool np) { return translated([&] { return wrapped(from_dlpack(capsule.ptr()), np); }); },
      nb::arg().none(), nb::arg(), "An array over the memory of a DLPack capsule.");
}

}  // namespace headrace::python
