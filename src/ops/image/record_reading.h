// What operators on the image files of records share: where the files lie among the bytes of a batch, and how each is
// read in a thread that has time.
#pragma once

#include <cstdint>
#include <string>

#include "base/function_ref.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/image/codec.h"
#include "ops/image/picture.h"

namespace headrace {

// One image of a batch: a row of the input `places`.
struct RecordImage {
  int64_t row;
  codec::Bytes file;
  uint32_t seed;
  const int64_t* place;  // begin, length, seed, the offset in the file of records, and what the operator adds
};

// Checks the inputs `bytes` and `places`, the latter with so many columns, and the shape (channels, height, width) of
// the images that are made. Returns that of the batch, and announces its cost.
Shape infer_records(Infer& i, const Shape& data_shape, int64_t columns);

// Calls `use` for each image of the batch, several at once. An Error gets `name` and the offset of the record.
void for_each_record(KernelContext& c, const std::string& name, FunctionRef<void(const RecordImage&)> use);

// The pixels of a file, grey or in colours.
Picture read_picture(codec::Bytes file, int64_t channels);

}  // namespace headrace
