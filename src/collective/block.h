// Blocks: events as bytes that ranks tell each other. Names and calls that all ranks have heard before are numbers.
#pragma once

#include <cstring>

#include "base/check.h"
#include "collective/agreement.h"

namespace headrace::collective {

inline constexpr uint32_t kUnknownText = 0xffffffff;

class BlockWriter {
 public:
  template <class Number>
  void put(Number number) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&number);
    block_.insert(block_.end(), bytes, bytes + sizeof(Number));
  }
  void put_text(std::string_view text) {
    put(static_cast<uint32_t>(text.size()));
    const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
    block_.insert(block_.end(), bytes, bytes + text.size());
  }
  void put_failure(const std::optional<CallFailure>& failure) {
    put(static_cast<uint8_t>(failure.has_value()));
    if (!failure) return;
    put(static_cast<uint8_t>(failure->kind));
    put_text(failure->text);
  }
  std::vector<std::byte> take() { return std::move(block_); }

 private:
  std::vector<std::byte> block_;
};

class BlockReader {
 public:
  explicit BlockReader(std::span<const std::byte> block) : left_(block) {}

  bool is_at_end() const noexcept { return left_.empty(); }
  template <class Number>
  Number number() {
    Number number;
    std::memcpy(&number, take(sizeof(Number)), sizeof(Number));
    return number;
  }
  std::string text() {
    const auto size = number<uint32_t>();
    return {reinterpret_cast<const char*>(take(size)), size};
  }
  std::optional<CallFailure> failure() {
    if (number<uint8_t>() == 0) return std::nullopt;
    const auto kind = number<uint8_t>();
    check(kind <= static_cast<uint8_t>(ErrorKind::kOs), ErrorKind::kRuntime, "distributed: an error of no kind came");
    return CallFailure{static_cast<ErrorKind>(kind), text()};
  }

 private:
  const std::byte* take(size_t size) {
    check(size <= left_.size(), ErrorKind::kRuntime,
          "distributed: a block of another rank ends too early; all ranks must run the same version");
    const std::byte* const taken = left_.data();
    left_ = left_.subspan(size);
    return taken;
  }

  std::span<const std::byte> left_;
};

}  // namespace headrace::collective
