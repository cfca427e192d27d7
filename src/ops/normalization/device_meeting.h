// Where calls on several devices of one process meet, to share what each of them has computed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace headrace {

// One meeting of so many calls. A call takes a seat when the program states it, in the thread that does; what it brings
// is there when the engine has computed it. Any thread may call any function.
class DeviceMeeting {
 public:
  // How long calls wait for others that the program has not stated yet.
  static constexpr std::chrono::seconds kPatience{60};

  struct Seat {
    std::shared_ptr<DeviceMeeting> meeting;
    int number = 0;  // in the order in which the calls were stated
  };
  // What a call brings: how many values it has seen in each channel, and two numbers of each channel.
  struct Share {
    double count = 0;
    std::vector<double> first, second;
  };

  // A seat in the oldest meeting of this name that lacks calls and has none of this member; a new one where there is
  // none. Raises MXNetError when the calls that wait there expect another number of them.
  static Seat join(const std::string& name, int size, uintptr_t member);

  DeviceMeeting(std::string name, int size, int64_t number) : name_(std::move(name)), number_(number), shares_(size) {}

  // Of all meetings of the process, whatever their names.
  int64_t number() const noexcept { return number_; }
  void bring(int seat, Share share);
  // What the call was to bring will not come.
  void fail(int seat, const std::string& why);
  // The shares of all seats, once all have come. Raises MXNetError when one of them cannot come, or when some calls
  // have not been stated after `patience`; the meeting is over then, for all of its calls.
  std::vector<Share> await(std::chrono::nanoseconds patience = kPatience);

 private:
  bool is_full() const noexcept { return members_.size() == shares_.size(); }
  bool is_decided() const noexcept { return !failure_.empty() || present_ == shares_.size(); }

  const std::string name_;
  const int64_t number_;
  std::vector<uintptr_t> members_;  // guarded by the lock of all meetings

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<Share>> shares_;  // guarded by mutex_, but for their number
  size_t present_ = 0;
  std::string failure_;

  friend class DeviceMeetings;
};

}  // namespace headrace
