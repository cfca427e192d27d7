#include "backend/sim/virtual_report.h"

#include <fmt/format.h>

#include <iterator>

namespace headrace::sim {
namespace {

constexpr size_t kNameWidth = 40;
constexpr size_t kMostPathRows = 20;

struct Unit {
  const char* name;
  int64_t ps;
};
// For all times of a report, so that they can be compared; the last one if none is as long as the whole.
constexpr Unit kUnits[] = {{"s", 1'000'000'000'000}, {"ms", 1'000'000'000}, {"us", 1'000'000}};

Unit unit_for(int64_t whole_ps) {
  for (const Unit& unit : kUnits)
    if (whole_ps >= unit.ps) return unit;
  return std::end(kUnits)[-1];
}

double share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

class Table {
 public:
  explicit Table(int64_t whole_ps) : whole_ps_(whole_ps), unit_(unit_for(whole_ps)) {}

  std::string time(int64_t ps) const {
    return fmt::format("{:.6f} {}", static_cast<double>(ps) / static_cast<double>(unit_.ps), unit_.name);
  }

  void head(const char* name, const char* time, const char* last) {
    fmt::format_to(out(), "\n{:<{}}{:>18}{:>8}{:>16}\n", name, kNameWidth, time, "share", last);
  }
  template <class Last>
  void row(const std::string& name, int64_t ps, Last last) {
    fmt::format_to(out(), "  {:<{}}{:>18}{:>7.1f}%{:>16}\n", name, kNameWidth - 2, time(ps), 100 * share(ps, whole_ps_),
                   last);
  }
  template <class... Args>
  void line(fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(out(), text, std::forward<Args>(args)...);
    text_ += '\n';
  }
  std::string take() { return std::move(text_); }

 private:
  std::back_insert_iterator<std::string> out() { return std::back_inserter(text_); }

  std::string text_;
  const int64_t whole_ps_;
  const Unit unit_;
};

}  // namespace

double VirtualReport::overlap() const { return share(overlapping_ps, busy_ps); }

std::string VirtualReport::text() const {
  Table table(total_ps);
  table.line("virtual time on {}: {}, {} operations ended, {} pending", machine, table.time(total_ps), ended, pending);
  table.line("frontend: {} pushing, {} waiting", table.time(pushing_ps), table.time(waiting_ps));
  table.line("overlap: {:.1f}%: at least two streams were busy for {} of the {} in which at least one was",
             100 * overlap(), table.time(overlapping_ps), table.time(busy_ps));
  if (!streams.empty()) table.head("stream", "busy", "operations");
  for (const StreamUse& stream : streams)
    table.row(stream.device + " " + stream.name, stream.busy_ps, stream.operations);
  if (!links.empty()) table.head("link", "busy", "bytes");
  for (const LinkUse& link : links) table.row(link.name, link.busy_ps, link.bytes);
  table.head("critical path", "time", "operations");
  table.row("frontend", path_frontend_ps, "-");
  for (size_t i = 0; i < path.size() && i < kMostPathRows; ++i)
    table.row(path[i].place + ": " + path[i].name, path[i].time_ps, path[i].count);
  if (path.size() > kMostPathRows) table.line("  and {} more", path.size() - kMostPathRows);
  return table.take();
}

}  // namespace headrace::sim
