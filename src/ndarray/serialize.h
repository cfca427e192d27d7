// MXNet's binary array format (".params"): one record per array, and the container that holds several with names.
//
// Reads versions V0 to V3, and numpy's .npy and .npz are not part of it. Every length in a file is checked against
// what is left of it before anything is allocated, so a broken or hostile file costs no memory and raises an Error
// whose text contains "Invalid NDArray file format". All functions wait for the arrays they write; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/nd.hpp"

namespace headrace {

// V3 when `np_shapes` (zero-dimensional and zero-size arrays exist there), else V2.
std::string serialize_record(const NDArray& array, bool np_shapes);
// `array` is none where the record says so. `used` gets the number of bytes read.
NDArray parse_record(std::string_view bytes, size_t* used);

void save_arrays(const std::string& path, std::span<const NDArray> arrays, std::span<const std::string> names,
                 bool np_shapes);
NamedArrays load_arrays(const std::string& path);
NamedArrays parse_arrays(std::string_view bytes);

}  // namespace headrace
