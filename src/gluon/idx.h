// Reader of idx files, the format of MNIST, plain or compressed with gzip. Any thread.
//
// A header states everything: magic (two zero bytes, a type, the number of axes), one big-endian 32-bit size per axis,
// then the values. Nothing is allocated that the file does not back: sizes are checked against the size of the file
// first, and data are taken in pieces, no further than the header says.
#pragma once

#include <string>

#include "headrace/ndarray.hpp"

namespace headrace::gluon::data {

// The uint8 array with `axes` axes in the file. ValueError: not such a file, or its size disagrees with its header.
// OSError: it cannot be read.
NDArray read_idx(const std::string& path, size_t axes);

}  // namespace headrace::gluon::data
