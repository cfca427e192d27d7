#include "op/formula/native.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "base/config.h"
#if defined(__x86_64__)
#include <hwy/highway.h>

#include "op/formula/vector_assembler.h"
#endif

namespace headrace {

NativeSet native_set() { return config().native ? machine_set() : NativeSet::kNone; }

#if !defined(__x86_64__)

NativeSet machine_set() noexcept { return NativeSet::kNone; }

size_t native_prefix(NativeSet, ComputeType, std::span<const NativeInstruction>) { return 0; }

NativeCode::NativeCode(NativeSet, ComputeType, std::span<const NativeInstruction>) {
  fail(ErrorKind::kRuntime, "formula: no machine code is made for this processor");
}

#else

namespace {

// Which values are in registers while instructions are taken in order: scalars from the beginning to the end, others
// from their first use or their making to their last use.
class Residence {
 public:
  // Values that the instruction reads and that are not there yet come in; then its result.
  template <class Come>
  void enter(const NativeInstruction& item, Come&& come) {
    for (int i = 0; i < item.arity; ++i) {
      const NativeOperand& argument = item.arguments[i];
      auto& values = argument.uniform ? scalars_ : vectors_;
      if (values.contains(argument.value)) continue;
      values[argument.value] = come(argument);
    }
  }
  void make(int value, int place) { vectors_[value] = place; }
  // Calls go(place) for values that are not needed any more.
  template <class Go>
  void leave(const NativeInstruction& item, Go&& go) {
    const auto remove = [&](int value) {
      const auto found = vectors_.find(value);
      if (found == vectors_.end()) return;
      go(found->second);
      vectors_.erase(found);
    };
    for (int i = 0; i < item.arity; ++i)
      if (!item.arguments[i].uniform && item.arguments[i].last) remove(item.arguments[i].value);
    if (!item.read_later) remove(item.result);
  }
  int place(const NativeOperand& operand) const { return (operand.uniform ? scalars_ : vectors_).at(operand.value); }
  size_t scalars() const noexcept { return scalars_.size(); }
  size_t vectors() const noexcept { return vectors_.size(); }

 private:
  std::unordered_map<int, int> scalars_, vectors_;
};

// The function that NativeCode calls. Lives as long as it.
class Loop : public VectorAssembler {
 public:
  Loop(NativeSet set, ComputeType type, std::span<const NativeInstruction> items)
      : VectorAssembler(kBytes + kBytesPerInstruction * items.size(), type, set),
        items_(items),
        item_bytes_(static_cast<int>(item_size(type))) {
    for (int i = register_count(set); i-- > kFirstRegister;) free_.push_back(i);
    generate();
    setProtectModeRE();
  }

 private:
  // Two bodies, each with loads and stores of all operands; the longest of them needs less.
  static constexpr size_t kBytes = 2048, kBytesPerInstruction = 320;
  static constexpr int kPointers = 10;

  void generate() {
    Xbyak::util::StackFrame frame(this, 2, kPointers + 2, 0, false);
    slots_ = frame.p[0], offset_ = frame.t[0];
    const Xbyak::Reg64 count = frame.p[1], end = frame.t[1];
    load_scalars();
    for (const NativeInstruction& item : items_) {
      for (int i = 0; i < item.arity; ++i)
        if (!item.arguments[i].uniform) keep_pointer(item.arguments[i].slot, frame);
      keep_pointer(item.slot, frame);
    }
    Xbyak::Label loop, rest, done;
    xor_(offset_, offset_);
    mov(end, count);
    and_(end, static_cast<int>(-width()));
    imul(end, end, item_bytes_);
    cmp(offset_, end);
    je(rest, T_NEAR);
    align(32);
    L(loop);
    body(false);
    add(offset_, static_cast<int>(bytes()));
    cmp(offset_, end);
    jb(loop, T_NEAR);
    L(rest);
    and_(count, static_cast<int>(width() - 1));
    jz(done, T_NEAR);
    set_part(count);
    body(true);
    L(done);
    vzeroupper();
    frame.close();
    emit_constants();
  }

  int take() {
    const int index = free_.back();
    free_.pop_back();
    return index;
  }

  void load_scalars() {
    for (const NativeInstruction& item : items_) {
      for (int i = 0; i < item.arity; ++i) {
        const NativeOperand& argument = item.arguments[i];
        if (!argument.uniform || scalars_.contains(argument.value)) continue;
        const int index = scalars_[argument.value] = take();
        mov(rax, ptr[slots_ + argument.slot * static_cast<int>(sizeof(void*))]);
        load_scalar(vector(index), ptr[rax]);
      }
    }
  }

  void keep_pointer(int slot, const Xbyak::util::StackFrame& frame) {
    if (slot < 0 || pointers_.contains(slot) || pointers_.size() == kPointers) return;
    const Xbyak::Reg64 pointer = frame.t[pointers_.size() + 2];
    pointers_[slot] = pointer;
    mov(pointer, ptr[slots_ + slot * static_cast<int>(sizeof(void*))]);
  }

  Xbyak::Address memory(int slot) {
    if (const auto known = pointers_.find(slot); known != pointers_.end()) return ptr[known->second + offset_];
    mov(rax, ptr[slots_ + slot * static_cast<int>(sizeof(void*))]);
    return ptr[rax + offset_];
  }

  // One vector of every value; `part`: fewer elements than a vector has.
  void body(bool part) {
    const std::vector<int> free = free_;
    Residence residence;
    for (const NativeInstruction& item : items_) {
      residence.enter(item, [&](const NativeOperand& operand) {
        if (operand.uniform) return scalars_.at(operand.value);
        const int index = take();
        load(vector(index), memory(operand.slot), part);
        return index;
      });
      const int result = take();
      const auto operand = [&](int i) {
        return i < item.arity ? vector(residence.place(item.arguments[i])) : Vector();
      };
      apply(item.opcode, vector(result), operand(0), operand(1), operand(2));
      if (item.slot >= 0) store(memory(item.slot), vector(result), part);
      residence.make(item.result, result);
      residence.leave(item, [&](int index) { free_.push_back(index); });
    }
    free_ = free;
  }

  std::span<const NativeInstruction> items_;
  int item_bytes_;
  Xbyak::Reg64 slots_, offset_;
  std::vector<int> free_;
  std::unordered_map<int, int> scalars_;            // registers
  std::unordered_map<int, Xbyak::Reg64> pointers_;  // of slots
};

}  // namespace

// Hardened systems refuse to run what a process has written.
static bool may_run_code() noexcept {
  try {
    Xbyak::CodeGenerator code(Xbyak::inner::ALIGN_PAGE_SIZE, Xbyak::DontSetProtectRWE);
    code.ret();
    return code.setProtectModeRE(false);
  } catch (const Xbyak::Error&) {
    return false;
  }
}

NativeSet machine_set() noexcept {
  static const NativeSet kBest = [] {
    if (!may_run_code()) return NativeSet::kNone;
    const int64_t targets = hwy::SupportedTargets();
    if (targets & (HWY_AVX3 | HWY_AVX3_DL)) return NativeSet::kAvx512;
    return targets & HWY_AVX2 ? NativeSet::kAvx2 : NativeSet::kNone;
  }();
  return kBest;
}

size_t native_prefix(NativeSet set, ComputeType type, std::span<const NativeInstruction> items) {
  if (set == NativeSet::kNone) return 0;
  const auto registers = static_cast<size_t>(VectorAssembler::register_count(set) - VectorAssembler::kFirstRegister);
  Residence residence;
  size_t most = 0;
  for (size_t k = 0; k < items.size(); ++k) {
    if (!VectorAssembler::has(items[k].opcode, type)) return k;
    residence.enter(items[k], [](const NativeOperand&) { return 0; });
    residence.make(items[k].result, 0);
    most = std::max(most, residence.vectors());
    if (residence.scalars() + most > registers) return k;
    residence.leave(items[k], [](int) {});
  }
  return items.size();
}

NativeCode::NativeCode(NativeSet set, ComputeType type, std::span<const NativeInstruction> items) {
  try {
    auto loop = std::make_shared<Loop>(set, type, items);
    function_ = loop->getCode<Function>();
    memory_ = std::move(loop);
  } catch (const Xbyak::Error& error) {
    fail(ErrorKind::kMemory, "formula: machine code for {} instructions: {}", items.size(), error.what());
  }
}

#endif

}  // namespace headrace
