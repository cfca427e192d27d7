#include "hardware/probes.h"

#include <algorithm>

#include "base/check.h"

namespace headrace::hardware {
namespace {

struct Subject {
  std::string_view name;
  std::vector<Row> (*rows)();
};

constexpr Subject kSubjects[] = {
    {"caches", cache_rows},
    {"cores", core_rows},
    {"memory", memory_rows},
    {"threads", thread_rows},
    {"arithmetic", arithmetic_rows},
    {"calls", call_rows},
    {"disk", disk_rows},
    {"network", network_rows},
    {"accelerator", accelerator_rows},
};

const BookFigure& find_in_book(std::string_view action) {
  const auto found = std::ranges::find(book(), action, &BookFigure::action);
  check(found != book().end(), ErrorKind::kKey, "hardware: the book has no '{}'", action);
  return *found;
}

std::vector<Probe> make_probes() {
  std::vector<Probe> probes;
  for (const Subject& subject : kSubjects) {
    for (const Row& row : subject.rows()) {
      Description description{subject.name, row.name, row.what, row.unit, {}};
      for (std::string_view action : row.book) description.book.push_back(find_in_book(action));
      probes.push_back({std::move(description), row.measure});
    }
  }
  return probes;
}

}  // namespace

std::span<const Probe> probes() {
  static const std::vector<Probe> probes = make_probes();
  return probes;
}

const Probe& find_probe(std::string_view name) {
  for (const Probe& probe : probes())
    if (probe.description.name == name) return probe;
  fail(ErrorKind::kValue, "hardware: there is no measurement '{}'; --list or descriptions() lists them", name);
}

std::span<const Description> descriptions() {
  static const std::vector<Description> all = [] {
    std::vector<Description> list;
    for (const Probe& probe : probes()) list.push_back(probe.description);
    return list;
  }();
  return all;
}

const Description& description_of(std::string_view name) { return find_probe(name).description; }

std::vector<std::string_view> select(std::span<const std::string> names) {
  for (const std::string& name : names) {
    const bool known =
        std::ranges::any_of(descriptions(), [&](const Description& d) { return d.name == name || d.subject == name; });
    if (known) continue;
    std::string subjects;
    for (const Subject& subject : kSubjects)
      subjects += fmt::format("{}{}", subjects.empty() ? "" : ", ", subject.name);
    fail(ErrorKind::kValue, "hardware: '{}' is neither a measurement (--list shows them) nor a subject ({})", name,
         subjects);
  }
  std::vector<std::string_view> selected;
  for (const Description& d : descriptions()) {
    const bool named =
        std::ranges::any_of(names, [&](const std::string& name) { return d.name == name || d.subject == name; });
    if (names.empty() || named) selected.push_back(d.name);
  }
  return selected;
}

}  // namespace headrace::hardware
