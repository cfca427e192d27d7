// Domains, tasks, frames, events, counters, markers and scopes: what a program marks itself.
#include <string>
#include <utility>

#include "base/check.h"
#include "headrace/profiler.hpp"
#include "timeline/timeline.h"

namespace headrace::profiler {
namespace {

bool records() noexcept { return timeline::enabled(timeline::Source::kAnnotations); }

constexpr timeline::Category kScope{"scope", timeline::Source::kAnnotations};

thread_local const std::string* current_scope = nullptr;  // of the innermost Scope of this thread

std::string name_of_scope(std::string_view name, bool append) {
  std::string full = append && current_scope ? *current_scope : std::string();
  full += name;
  if (!full.ends_with(':')) full += ':';
  return full;
}

timeline::Scope parse_scope(std::string_view scope) {
  if (scope == "global") return timeline::Scope::kGlobal;
  if (scope == "thread") return timeline::Scope::kThread;
  // Chrome's format knows no smaller ones than a thread; MXNet writes the others as marks of the process.
  check(scope == "process" || scope == "task" || scope == "marker", ErrorKind::kValue,
        "profiler.Marker.mark: the scope must be global, process, thread, task or marker, got '{}'.", scope);
  return timeline::Scope::kProcess;
}

}  // namespace

Task Domain::new_task(std::string_view name) const { return {*this, name}; }
Frame Domain::new_frame(std::string_view name) const { return {*this, name}; }
Counter Domain::new_counter(std::string_view name, std::optional<int64_t> value) const { return {*this, name, value}; }
Marker Domain::new_marker(std::string_view name) const { return {*this, name}; }

Duration::Duration(std::string_view name, std::string_view category)
    : name_(timeline::intern(name)), category_(&timeline::annotation_category(category)) {}

void Duration::start() noexcept { begin_ = records() ? ticks() : 0; }
uint64_t Duration::take_begin() noexcept { return std::exchange(begin_, 0); }

void Task::stop() noexcept {
  if (const uint64_t begin = take_begin()) timeline::record_async({name_, *category_}, begin, ticks());
}

void Frame::stop() noexcept {
  if (const uint64_t begin = take_begin()) timeline::record_async({name_, *category_}, begin, ticks());
}

void Event::stop() noexcept {
  if (const uint64_t begin = take_begin()) timeline::record({name_, *category_}, begin, ticks());
}

Counter::Counter(const Domain& domain, std::string_view name, std::optional<int64_t> value)
    : name_(timeline::intern(name)),
      category_(&timeline::annotation_category(domain.name())),
      value_(value.value_or(0)) {
  if (value) set_value(*value);
}

void Counter::set_value(int64_t value) noexcept {
  value_.store(value, std::memory_order_relaxed);
  timeline::counter({name_, *category_}, value);
}

void Counter::increment(int64_t delta) noexcept {
  timeline::counter({name_, *category_}, value_.fetch_add(delta, std::memory_order_relaxed) + delta);
}

Marker::Marker(const Domain& domain, std::string_view name)
    : name_(timeline::intern(name)), category_(&timeline::annotation_category(domain.name() + ",instant_marker")) {}

void Marker::mark(std::string_view scope) const { timeline::mark({name_, *category_}, parse_scope(scope)); }

Scope::Scope(std::string_view name, bool append)
    : name_(name_of_scope(name, append)),
      outer_(std::exchange(current_scope, &name_)),
      label_(records() ? timeline::intern(name_) : nullptr),
      begin_(ticks()) {}

Scope::~Scope() {
  current_scope = outer_;
  if (label_) timeline::record({label_, kScope}, begin_, ticks());
}

}  // namespace headrace::profiler
