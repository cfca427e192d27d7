#include "backend/sim/virtual_report.h"

#include <fmt/format.h>

#include <iterator>

namespace headrace::sim {
namespace {

constexpr size_t kNameWidth = 40;
constexpr size_t kMostPathRows = 20;

std::string time_text(int64_t ps) {
  const auto value = static_cast<double>(ps);
  if (ps >= 1'000'000'000'000) return fmt::format("{:.6f} s ", value / 1e12);
  if (ps >= 1'000'000'000) return fmt::format("{:.6f} ms", value / 1e9);
  return fmt::format("{:.6f} us", value / 1e6);
}

double share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

class Table {
 public:
  explicit Table(int64_t whole_ps) : whole_ps_(whole_ps) {}

  void head(const char* name, const char* time, const char* last) {
    fmt::format_to(out(), "\n{:<{}}{:>18}{:>8}{:>16}\n", name, kNameWidth, time, "share", last);
  }
  template <class Last>
  void row(const std::string& name, int64_t ps, Last last) {
    fmt::format_to(out(), "  {:<{}}{:>18}{:>7.1f}%{:>16}\n", name, kNameWidth - 2, time_text(ps),
                   100 * share(ps, whole_ps_), last);
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
  int64_t whole_ps_;
};

}  // namespace

double VirtualReport::overlap() const { return share(overlapping_ps, busy_ps); }

std::string VirtualReport::text() const {
  Table table(total_ps);
  table.line("virtual time on {}: {}, {} operations ended, {} pending", machine, time_text(total_ps), ended, pending);
  table.line("frontend: {} pushing, {} waiting", time_text(pushing_ps), time_text(waiting_ps));
  table.line("overlap: {:.1f}%: at least two streams were busy for {} of the {} in which at least one was",
             100 * overlap(), time_text(overlapping_ps), time_text(busy_ps));
  table.head("stream", "busy", "operations");
  for (const StreamUse& stream : streams)
    table.row(stream.device + " " + stream.name, stream.busy_ps, stream.operations);
  table.head("link", "busy", "bytes");
  for (const LinkUse& link : links) table.row(link.name, link.busy_ps, link.bytes);
  table.head("critical path", "time", "operations");
  table.row("frontend", path_frontend_ps, "");
  for (size_t i = 0; i < path.size() && i < kMostPathRows; ++i)
    table.row(path[i].place + ": " + path[i].name, path[i].time_ps, path[i].count);
  if (path.size() > kMostPathRows) table.line("  and {} more", path.size() - kMostPathRows);
  return table.take();
}

}  // namespace headrace::sim
