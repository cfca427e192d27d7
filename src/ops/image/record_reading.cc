#include "ops/image/record_reading.h"

#include "backend/cpu/parallel.h"
#include "base/check.h"
#include "headrace/error.hpp"

namespace headrace {

constexpr double kNsPerByteDecoded = 100, kNsPerElement = 5;

Shape infer_records(Infer& i, const Shape& data_shape, int64_t columns) {
  i.require(
      data_shape.size() == 3 && (data_shape[0] == 1 || data_shape[0] == 3) && data_shape[1] > 0 && data_shape[2] > 0,
      ErrorKind::kRuntime, "data_shape must be (1 or 3, height, width), got {}", to_string(data_shape));
  i.require(
      i.dtype(0) == DType::kUint8 && i.dtype(1) == DType::kInt64 && i.shape(1).size() == 2 && i.shape(1)[1] == columns,
      ErrorKind::kRuntime, "bytes of uint8 and places of int64 and shape (count, {}) are needed, got {} and {}",
      columns, dtype_name(i.dtype(0)), to_string(i.shape(1)));
  Shape result{i.shape(1)[0]};
  for (const int64_t extent : data_shape) result.push_back(extent);
  i.cost(static_cast<double>(i.size(0)) * kNsPerByteDecoded +
         static_cast<double>(element_count(result)) * kNsPerElement);
  return result;
}

void for_each_record(KernelContext& c, const std::string& name, FunctionRef<void(const RecordImage&)> use) {
  const Tensor &bytes = c.input(0), &places = c.input(1);
  const int64_t count = places.shape[0], columns = places.shape[1];
  const double cost =
      static_cast<double>(bytes.size) * kNsPerByteDecoded + static_cast<double>(c.output(0).size) * kNsPerElement;
  parallel_for(count, 1, cost, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t* place = places.as<const int64_t>() + row * columns;
      check(place[0] >= 0 && place[1] >= 0 && place[0] <= bytes.size && place[1] <= bytes.size - place[0],
            ErrorKind::kRuntime, "{}: image {} is not in the {} bytes", c.name(), row, bytes.size);
      try {
        use({row,
             {bytes.as<const unsigned char>() + place[0], static_cast<size_t>(place[1])},
             static_cast<uint32_t>(place[2]),
             place});
      } catch (const Error& error) {
        throw Error(error.kind(), "'" + name + "', record at byte " + std::to_string(place[3]) + ": " + error.what());
      }
    }
  });
}

Picture read_picture(codec::Bytes file, int64_t channels) {
  const codec::Color color = channels == 1 ? codec::Color::kGray : codec::Color::kBgr;
  const codec::Header header = codec::read_header(file, color);
  Picture image{header.height, header.width, channels};
  image.pixels.resize(static_cast<size_t>(image.height * image.width * image.channels));
  codec::decode(file, color, image.pixels.data());
  return image;
}

}  // namespace headrace
