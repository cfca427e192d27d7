// Gradients at two bits an element: what is sent when bandwidth is dear. Element i is in byte i / 4 of the packed form,
// which is whole words of 16 elements.
#include "ops/communication/two_bit.h"

#include <algorithm>

#include "backend/cpu/parallel.h"
#include "op/invoke.h"
#include "op/result_dtype.h"
#include "op/rule.h"
#include "ops/communication/two_bit_code.h"

namespace headrace {
namespace {

constexpr int64_t kPerWord = 16, kWordBytes = 4, kPerByte = TwoBits::kPerByte;
constexpr double kNsPerElement = 0.5;

constexpr char kThresholdDoc[] = "What an element counts for; above 0.";

struct QuantizeAttrs {
  double threshold = 0.5;
  static constexpr auto kFields = fields(field(&QuantizeAttrs::threshold, "threshold", kThresholdDoc));
};

struct DequantizeAttrs {
  double threshold = 0.5;
  Shape shape;
  static constexpr auto kFields = fields(field(&DequantizeAttrs::threshold, "threshold", kThresholdDoc),
                                         field(&DequantizeAttrs::shape, "shape", "Of the gradient.").required());
};

int64_t packed_bytes(int64_t elements) { return (elements + kPerWord - 1) / kPerWord * kWordBytes; }

void require_threshold(const Infer& infer, double threshold) {
  infer.require(threshold > 0, ErrorKind::kValue, "expected a threshold above 0, got {}", threshold);
}

// Calls body(byte, first element, one after the last) for every byte of the packed form.
template <class Body>
void for_bytes(int64_t elements, const Body& body) {
  const int64_t bytes = packed_bytes(elements);
  parallel_for(bytes, 1 << 12, kNsPerElement * static_cast<double>(elements), [&](int64_t begin, int64_t end) {
    for (int64_t byte = begin; byte < end; ++byte)
      body(byte, std::min(byte * kPerByte, elements), std::min((byte + 1) * kPerByte, elements));
  });
}

void pack_on_host(KernelContext& c, float threshold) {
  const float* const gradient = c.input(0).as<float>();
  float* const residual = c.input(1).as<float>();
  auto* const packed = c.output(0).as<uint8_t>();
  for_bytes(c.input(0).size, [=](int64_t byte, int64_t begin, int64_t end) {
    unsigned bits = 0;
    for (int64_t i = begin; i < end; ++i) {
      float value = residual[i] + gradient[i];
      bits |= TwoBits::encode(value, threshold) << TwoBits::shift_of(i);
      residual[i] = value;
    }
    packed[byte] = static_cast<uint8_t>(bits);
  });
}

void unpack_on_host(KernelContext& c, float threshold) {
  const auto* const packed = c.input(0).as<uint8_t>();
  auto* const gradient = c.output(0).as<float>();
  for_bytes(c.output(0).size, [=](int64_t byte, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      gradient[i] = TwoBits::decode((packed[byte] >> TwoBits::shift_of(i)) & 3u, threshold);
  });
}

OpDef quantize() {
  return general<QuantizeAttrs>(
      {.name = "_two_bit_quantize",
       .doc = "Adds data to residual, and gives for each element of it +threshold, -threshold or nothing, in two bits; "
              "what was given is taken off the residual. Raises TypeError unless both hold float32, ValueError unless "
              "their shapes are equal.",
       .inputs = {"data", "residual"},
       .result_dtype = result_dtypes::always(DType::kUint8),
       .infer =
           [](Infer& infer, const QuantizeAttrs& a) {
             require_threshold(infer, a.threshold);
             for (size_t i = 0; i < 2; ++i)
               infer.require(infer.dtype(i) == DType::kFloat32, ErrorKind::kType, "expected float32, got {}",
                             dtype_name(infer.dtype(i)));
             infer.require(infer.shape(0) == infer.shape(1), ErrorKind::kValue,
                           "expected a residual of shape {}, got {}", to_string(infer.shape(0)),
                           to_string(infer.shape(1)));
             infer.output({packed_bytes(infer.size(0))}, DType::kUint8);
             infer.cost(kNsPerElement * static_cast<double>(infer.size(0)));
           },
       .kernel = [](KernelContext& c, const QuantizeAttrs& a) { pack_two_bits(c, static_cast<float>(a.threshold)); },
       .mutates = 1u << 1,
       .samples = {Sample({uniform({3, 7}), uniform({3, 7})})}});
}

OpDef dequantize() {
  return general<DequantizeAttrs>(
      {.name = "_two_bit_dequantize",
       .doc = "The float32 array of that shape that _two_bit_quantize packed. Raises ValueError for a packed form of "
              "another size.",
       .result_dtype = result_dtypes::always(DType::kFloat32),
       .infer =
           [](Infer& infer, const DequantizeAttrs& a) {
             require_threshold(infer, a.threshold);
             const int64_t bytes = packed_bytes(element_count(a.shape));
             infer.require(infer.dtype(0) == DType::kUint8, ErrorKind::kType, "expected uint8, got {}",
                           dtype_name(infer.dtype(0)));
             infer.require(infer.size(0) == bytes, ErrorKind::kValue, "expected {} bytes for shape {}, got {}", bytes,
                           to_string(a.shape), infer.size(0));
             infer.output(a.shape, DType::kFloat32);
             infer.cost(kNsPerElement * static_cast<double>(element_count(a.shape)));
           },
       .kernel = [](KernelContext& c,
                    const DequantizeAttrs& a) { unpack_two_bits(c, static_cast<float>(a.threshold)); },
       .samples = {Sample({integers({8}, 0, 256, DType::kUint8)}, make_attrs(DequantizeAttrs{0.5, {3, 7}}))}});
}

}  // namespace

const decltype(pack_two_bits) pack_two_bits{"pack_two_bits", pack_on_host};
const decltype(unpack_two_bits) unpack_two_bits{"unpack_two_bits", unpack_on_host};

Operators two_bit_operators() {
  Operators operators;
  operators.push_back(quantize());
  operators.push_back(dequantize());
  return operators;
}

}  // namespace headrace
