// Parts of kernels: functions that do the work of operators' kernels, and for which devices may have code of their own
// (KernelTable::set_part). A kernel that leaves all work to such parts runs for these devices as it stands
// (KernelTable::set_own_kernel): it says what is to be done, on the thread that launches, and touches no memory itself.
#pragma once

#include "device/stream.h"

namespace headrace {

class KernelContext;

class KernelPart {
 public:
  using AnyFunction = void (*)();
  KernelPart(const KernelPart&) = delete;  // tables know it by its address

 protected:
  constexpr explicit KernelPart(const char* name) noexcept : name_(name) {}
  // The code of the device that work is being launched for. Raises Error(kRuntime) where there is none.
  AnyFunction launcher() const;
  // That of any device; null: there is none.
  AnyFunction code_of(Device device) const;

 private:
  const char* name_;
};

template <class Signature>
class KernelPartOf;

// Lives as long as the process.
template <class... Arguments>
class KernelPartOf<void(KernelContext&, Arguments...)> final : public KernelPart {
 public:
  using Function = void (*)(KernelContext&, Arguments...);
  constexpr KernelPartOf(const char* name, Function host) noexcept : KernelPart(name), host_(host) {}

  // Computes, or while work is launched puts device code on its stream.
  void operator()(KernelContext& context, Arguments... arguments) const {
    (is_launching() ? reinterpret_cast<Function>(launcher()) : host_)(context, arguments...);
  }

 private:
  const Function host_;
};

template <class Signature>
class DeviceQuestion;

// A question that the code of a device answers before there is work to launch, in any thread. Lives as long as the
// process.
template <class Result, class... Arguments>
class DeviceQuestion<Result(Device, Arguments...)> final : public KernelPart {
 public:
  using Function = Result (*)(Device, Arguments...);
  constexpr explicit DeviceQuestion(const char* name) noexcept : KernelPart(name) {}

  // Result() of a device whose code has no answer.
  Result operator()(Device device, Arguments... arguments) const {
    const AnyFunction found = code_of(device);
    return found ? reinterpret_cast<Function>(found)(device, arguments...) : Result();
  }
};

}  // namespace headrace
