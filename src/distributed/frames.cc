#include "distributed/frames.h"

#include <grpc/slice.h>

#include <algorithm>
#include <ranges>
#include <string>

#include "base/check.h"

namespace headrace::distributed {
namespace {

constexpr size_t kLengthBytes = 4;

grpc::Slice part_of(const grpc::Slice& whole, size_t begin, size_t end) {
  const grpc_slice held = whole.c_slice();
  grpc::Slice part(grpc_slice_sub(held, begin, end), grpc::Slice::STEAL_REF);
  grpc_slice_unref(held);
  return part;
}

}  // namespace

size_t Elements::size() const noexcept {
  size_t bytes = 0;
  for (const grpc::Slice& piece : pieces_) bytes += piece.size();
  return bytes;
}

void Elements::copy_to(char* place) const noexcept {
  for (const grpc::Slice& piece : pieces_)
    place = std::copy_n(reinterpret_cast<const char*>(piece.begin()), piece.size(), place);
}

grpc::ByteBuffer written(const Frame& head, const std::vector<grpc::Slice>& elements) {
  const size_t length = head.ByteSizeLong();
  std::vector<grpc::Slice> pieces;
  pieces.reserve(elements.size() + 1);
  grpc_slice front = grpc_slice_malloc(kLengthBytes + length);
  uint8_t* place = GRPC_SLICE_START_PTR(front);
  for (size_t i = 0; i < kLengthBytes; ++i) *place++ = static_cast<uint8_t>(length >> (8 * i));
  head.SerializeWithCachedSizesToArray(place);
  pieces.emplace_back(front, grpc::Slice::STEAL_REF);
  pieces.insert(pieces.end(), elements.begin(), elements.end());
  return {pieces.data(), pieces.size()};
}

Elements Behind::take(uint64_t bytes) {
  std::vector<grpc::Slice> taken;
  while (bytes > 0) {
    check(next_ < pieces_.size(), ErrorKind::kValue, "distributed: a frame ended {} bytes before its last array did",
          bytes);
    const grpc::Slice& piece = pieces_[next_];
    const size_t count = std::min<uint64_t>(bytes, piece.size() - taken_);
    if (count > 0) taken.push_back(part_of(piece, taken_, taken_ + count));
    bytes -= count;
    taken_ += count;
    if (taken_ < piece.size()) break;
    ++next_;
    taken_ = 0;
  }
  while (next_ < pieces_.size() && pieces_[next_].size() == taken_) {
    ++next_;
    taken_ = 0;
  }
  return Elements(std::move(taken));
}

Behind read(const grpc::ByteBuffer& bytes, Frame& head) {
  std::vector<grpc::Slice> pieces;
  check(bytes.Dump(&pieces).ok(), ErrorKind::kValue, "distributed: a frame that cannot be read came");
  Behind behind(std::move(pieces));
  const auto taken = [&](size_t count) {
    std::string text(count, '\0');
    behind.take(count).copy_to(text.data());
    return text;
  };
  size_t length = 0;
  for (const char byte : taken(kLengthBytes) | std::views::reverse) length = length << 8 | static_cast<uint8_t>(byte);
  check(length <= bytes.Length(), ErrorKind::kValue, "distributed: a frame of {} bytes came, whose head has {}",
        bytes.Length(), length);
  check(head.ParseFromString(taken(length)), ErrorKind::kValue, "distributed: a frame came whose head is none");
  return behind;
}

static Array* value_of(TransferRequest& transfer) { return transfer.has_value() ? transfer.mutable_value() : nullptr; }

Array* array_in(Request& request) {
  switch (request.what_case()) {
    case Request::kInit:
      return request.mutable_init()->mutable_value();
    case Request::kPush:
      return request.mutable_push()->mutable_value();
    case Request::kOutcome:
      return request.outcome().has_value() ? request.mutable_outcome()->mutable_value() : nullptr;
    case Request::kTransfer:
      return value_of(*request.mutable_transfer());
    case Request::kRepeated: {
      Repeated& told = *request.mutable_repeated();
      if (told.has_transfer()) return value_of(*told.mutable_transfer());
      return told.has_init() ? told.mutable_init()->mutable_value() : nullptr;
    }
    default:
      return nullptr;
  }
}

Array* array_in(Reply& reply) { return reply.has_value() ? reply.mutable_value() : nullptr; }

}  // namespace headrace::distributed
