#include "profiler/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/clock.h"

namespace headrace::profiler {
namespace {

std::string json_text(std::string_view text) {
  return nlohmann::ordered_json(text).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

bool is_empty(const timeline::Lane& lane) {
  return lane.events.empty() && lane.samples.empty() && lane.marks.empty() && lane.messages.empty();
}

// The moment that becomes zero; simulated clocks have a zero of their own.
double first_moment(const std::vector<timeline::Lane>& lanes) {
  double first = std::numeric_limits<double>::infinity();
  for (const timeline::Lane& lane : lanes) {
    const bool is_virtual = lane.clock == timeline::Clock::kVirtual;
    for (const timeline::Event& event : lane.events) {
      if (!is_virtual) first = std::min(first, event.begin_ns);
      if (event.origin_lane) first = std::min(first, event.origin_ns);
    }
    if (is_virtual) continue;
    for (const timeline::Sample& sample : lane.samples) first = std::min(first, sample.at_ns);
    for (const timeline::Mark& mark : lane.marks) first = std::min(first, mark.at_ns);
    for (const timeline::Message& message : lane.messages) first = std::min(first, message.at_ns);
  }
  return first;
}

const char* letter(timeline::Scope scope) {
  switch (scope) {
    case timeline::Scope::kGlobal:
      return "g";
    case timeline::Scope::kThread:
      return "t";
    case timeline::Scope::kProcess:
      break;
  }
  return "p";
}

constexpr double kAtOnceNs = 1000;

// Writes one timeline. Groups of lanes are what the format calls processes.
class Writer {
 public:
  Writer(const std::vector<timeline::Lane>& lanes, std::ostream& out, const Moment* moment)
      : lanes_(lanes), out_(out), moment_(moment), origin_(first_moment(lanes)) {}

  void write() {
    uint64_t lost = 0;
    out_ << "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
    for (const timeline::Lane& lane : lanes_) {
      by_number_[lane.number] = &lane;
      lost += lane.lost;
      if (!is_empty(lane)) head(lane);
    }
    for (const timeline::Lane& lane : lanes_) body(lane);
    out_ << fmt::format("\n], \"otherData\": {{\"lost\": {}{}}}}}\n", lost, clock_text());
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> text, Args&&... args) {
    out_ << (std::exchange(has_lines_, true) ? ",\n" : "\n") << fmt::format(text, std::forward<Args>(args)...);
  }

  // Of the moment that is time 0.
  std::string clock_text() const {
    if (!moment_ || std::isinf(origin_)) return "";
    return fmt::format(R"(, "clock": {{"machine": {}, "steady_ns": {:.0f}, "unix_ns": {:.0f}}})",
                       json_text(moment_->machine), origin_, moment_->unix_ns - (moment_->steady_ns - origin_));
  }

  // Names come by pointer, a few of them many times.
  const std::string& text(const char* name) {
    const auto [place, is_new] = quoted_.try_emplace(name);
    if (is_new) place->second = json_text(name);
    return place->second;
  }

  double micros(const timeline::Lane& lane, double ns) const {
    return (lane.clock == timeline::Clock::kVirtual ? ns : ns - origin_) / 1e3;
  }

  using Group = std::pair<std::string, timeline::Clock>;
  static Group group_of(const timeline::Lane& lane) { return {lane.group, lane.clock}; }

  // Where an event is: its group and lane.
  std::string place(const timeline::Lane& lane) const {
    return fmt::format(R"("pid": {}, "tid": {})", processes_.at(group_of(lane)), lane.number);
  }

  void head(const timeline::Lane& lane) {
    const auto [group, is_new] = processes_.try_emplace(group_of(lane), static_cast<int>(processes_.size()));
    const int pid = group->second;
    if (is_new) {
      line(R"({{"name": "process_name", "ph": "M", "pid": {}, "args": {{"name": {}}}}})", pid, json_text(lane.group));
      line(R"({{"name": "process_sort_index", "ph": "M", "pid": {}, "args": {{"sort_index": {}}}}})", pid, pid);
      if (lane.clock == timeline::Clock::kVirtual)
        line(R"({{"name": "process_labels", "ph": "M", "pid": {}, "args": {{"labels": "virtual time"}}}})", pid);
    }
    line(R"({{"name": "thread_name", "ph": "M", {}, "args": {{"name": {}}}}})", place(lane), json_text(lane.name));
    line(R"({{"name": "thread_sort_index", "ph": "M", {}, "args": {{"sort_index": {}}}}})", place(lane), lane.number);
  }

  void body(const timeline::Lane& lane) {
    if (is_empty(lane)) return;
    const std::string at = place(lane);
    for (const timeline::Event& event : lane.events) {
      const double begin = micros(lane, event.begin_ns);
      if (event.async) {
        const std::string same =
            fmt::format(R"("name": {}, "cat": {}, "id": {}, {})", text(event.name), text(event.category), ++ids_, at);
        line(R"({{"ph": "b", {}, "ts": {:.3f}}})", same, begin);
        line(R"({{"ph": "e", {}, "ts": {:.3f}}})", same, micros(lane, event.end_ns));
        continue;
      }
      line(R"({{"name": {}, "cat": {}, "ph": "X", {}, "ts": {:.3f}, "dur": {:.3f}}})", text(event.name),
           text(event.category), at, begin, (event.end_ns - event.begin_ns) / 1e3);
      if (event.origin_lane) arrow(event, lane, begin);
    }
    for (const timeline::Sample& sample : lane.samples)
      line(R"({{"name": {}, "cat": {}, "ph": "C", {}, "ts": {:.3f}, "args": {{"value": {}}}}})", text(sample.name),
           text(sample.category), at, micros(lane, sample.at_ns), sample.value);
    for (const timeline::Mark& mark : lane.marks)
      line(R"({{"name": {}, "cat": {}, "ph": "i", "s": "{}", {}, "ts": {:.3f}}})", text(mark.name), text(mark.category),
           letter(mark.scope), at, micros(lane, mark.at_ns));
    for (const timeline::Message& message : lane.messages)
      line(R"({{"name": {}, "cat": {}, {}, "id": "{:016x}", {}, "ts": {:.3f}}})", text(message.name),
           text(message.category), message.is_received ? R"("ph": "f", "bp": "e")" : R"("ph": "s")", message.number, at,
           micros(lane, message.at_ns));
  }

  // From where the task was pushed to where it ran. Viewers tie the ends of arrows to bars, so the push gets a bar too,
  // as short as the format allows. No arrow has a task that its own thread ran at once, and one between a real and a
  // simulated clock would point nowhere.
  void arrow(const timeline::Event& event, const timeline::Lane& lane, double begin) {
    if (event.origin_lane == lane.number && event.begin_ns - event.origin_ns < kAtOnceNs) return;
    const auto from = by_number_.find(event.origin_lane);
    if (from == by_number_.end() || is_empty(*from->second) || from->second->clock != lane.clock) return;
    const std::string at = place(*from->second);
    const double pushed = micros(*from->second, event.origin_ns);
    line(R"({{"name": {}, "cat": "push", "ph": "X", {}, "ts": {:.3f}, "dur": 0.001}})", text(event.name), at, pushed);
    line(R"({{"name": "push", "cat": "push", "ph": "s", "id": {}, {}, "ts": {:.3f}}})", ++ids_, at, pushed);
    line(R"({{"name": "push", "cat": "push", "ph": "f", "bp": "e", "id": {}, {}, "ts": {:.3f}}})", ids_, place(lane),
         begin);
  }

  const std::vector<timeline::Lane>& lanes_;
  std::ostream& out_;
  const Moment* const moment_;
  const double origin_;
  bool has_lines_ = false;
  int64_t ids_ = 0;  // of arrows and asynchronous spans
  std::map<Group, int> processes_;
  std::unordered_map<int, const timeline::Lane*> by_number_;
  std::unordered_map<const char*, std::string> quoted_;
};

}  // namespace

Moment now() {
  const std::chrono::duration<double, std::nano> unix_time = std::chrono::system_clock::now().time_since_epoch();
  Moment moment{static_cast<double>(steady_ns()), unix_time.count(), ""};
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), moment.machine);
  return moment;
}

void write_chrome_trace(const std::vector<timeline::Lane>& lanes, std::ostream& out, const Moment* moment) {
  Writer(lanes, out, moment).write();
}

void save_chrome_trace(const std::string& path) {
  std::ofstream file(path);
  const Moment moment = now();
  write_chrome_trace(timeline::collect(), file, &moment);
  file.close();
  check(!file.fail(), ErrorKind::kOs,
        "profiler: cannot write the timeline to '{}'. Name a file in a folder that exists.", path);
}

}  // namespace headrace::profiler
