#include "ops/normalization/device_meeting.h"

#include <algorithm>
#include <list>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "engine/runtime.h"

namespace headrace {

// Those that lack calls, by name, the oldest first.
class DeviceMeetings {
 public:
  DeviceMeeting::Seat join(const std::string& name, int size, uintptr_t member) {
    const std::lock_guard lock(mutex_);
    auto& open = open_[name];
    const auto lacks = [&](const auto& meeting) { return std::ranges::count(meeting->members_, member) == 0; };
    auto found = std::ranges::find_if(open, lacks);
    if (found == open.end()) {
      open.push_back(std::make_shared<DeviceMeeting>(name, size, count_++));
      found = std::prev(open.end());
    }
    const std::shared_ptr<DeviceMeeting> meeting = *found;
    check(meeting->shares_.size() == static_cast<size_t>(size), ErrorKind::kRuntime,
          "{}: {} devices were to share statistics, now {}; layers of different networks need keys of their own", name,
          meeting->shares_.size(), size);
    meeting->members_.push_back(member);
    const int seat = static_cast<int>(meeting->members_.size()) - 1;
    if (meeting->is_full()) remove(name, found);
    return {meeting, seat};
  }

  // Of calls that have been stated; nobody joins any more.
  size_t close(const DeviceMeeting& meeting) {
    const std::lock_guard lock(mutex_);
    if (const auto named = open_.find(meeting.name_); named != open_.end()) {
      const auto found = std::ranges::find_if(named->second, [&](const auto& one) { return one.get() == &meeting; });
      if (found != named->second.end()) remove(meeting.name_, found);
    }
    return meeting.members_.size();
  }

  bool is_full(const DeviceMeeting& meeting) {
    const std::lock_guard lock(mutex_);
    return meeting.is_full();
  }

 private:
  using Open = std::list<std::shared_ptr<DeviceMeeting>>;

  void remove(const std::string& name, Open::iterator meeting) {
    Open& open = open_[name];
    open.erase(meeting);
    if (open.empty()) open_.erase(name);
  }

  std::mutex mutex_;
  std::unordered_map<std::string, Open> open_;
  int64_t count_ = 0;
};

DeviceMeeting::Seat DeviceMeeting::join(const std::string& name, int size, uintptr_t member) {
  return service<DeviceMeetings>().join(name, size, member);
}

void DeviceMeeting::bring(int seat, Share share) {
  {
    const std::lock_guard lock(mutex_);
    shares_[static_cast<size_t>(seat)] = std::move(share);
    ++present_;
  }
  changed_.notify_all();
}

void DeviceMeeting::fail(int seat, const std::string& why) {
  service<DeviceMeetings>().close(*this);
  {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = fmt::format("{}: call {} of {} failed: {}", name_, seat + 1, shares_.size(), why);
  }
  changed_.notify_all();
}

std::vector<DeviceMeeting::Share> DeviceMeeting::await(std::chrono::nanoseconds patience) {
  DeviceMeetings& all = service<DeviceMeetings>();
  std::unique_lock lock(mutex_);
  const auto is_decided = [this] { return this->is_decided(); };
  if (!changed_.wait_for(lock, patience, is_decided)) {
    if (all.is_full(*this)) {
      changed_.wait(lock, is_decided);  // it has been stated, so it comes or fails
    } else {
      const size_t stated = all.close(*this);
      failure_ = fmt::format(
          "{}: {} of {} devices have called the layer; call the network on all of them before you read a result of one "
          "of them",
          name_, stated, shares_.size());
      changed_.notify_all();
    }
  }
  check(failure_.empty(), ErrorKind::kRuntime, "{}", failure_);
  std::vector<Share> shares;
  for (const std::optional<Share>& share : shares_) shares.push_back(*share);
  return shares;
}

}  // namespace headrace
