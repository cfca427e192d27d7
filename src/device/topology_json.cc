#include <algorithm>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "base/check.h"
#include "base/text_file.h"
#include "device/topology.h"

namespace headrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFullName = "full", kSharedName = "shared";

template <class... Args>
void require(bool condition, fmt::format_string<Args...> text, Args&&... args) {
  if (!condition) fail(ErrorKind::kValue, "topology file: {}", fmt::format(text, std::forward<Args>(args)...));
}

std::string shown(const Json& value) {
  if (value.is_structured()) return value.type_name();
  return value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 60);
}

// Called while a text is parsed: refuses a field that an object has twice, of which the parser would keep the last.
class UniqueFields {
 public:
  bool operator()(int /*depth*/, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::object_start) {
      objects_.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      objects_.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const auto& field = parsed.get_ref<const std::string&>();
      require(objects_.back().insert(field).second, "the field '{}' is there twice in one object", field);
    }
    return true;
  }

 private:
  std::vector<std::set<std::string>> objects_;  // fields so far, the innermost object last
};

// An object with known fields only; `where` names it in errors.
class Fields {
 public:
  Fields(const Json& object, std::string where, std::initializer_list<std::string_view> known)
      : object_(object), where_(std::move(where)) {
    require(object.is_object(), "{} must be an object, got {}", where_, shown(object));
    for (const auto& [key, value] : object.items()) {
      const bool found = std::find(known.begin(), known.end(), key) != known.end();
      require(found, "{} has an unknown field '{}'; known are {}", where_, key, fmt::join(known, ", "));
    }
  }

  std::string text(const char* key, std::string_view otherwise = {}) const {
    const Json* value = find(key, !otherwise.empty());
    if (!value) return std::string(otherwise);
    require(value->is_string(), "'{}' of {} must be a string, got {}", key, where_, shown(*value));
    return value->get<std::string>();
  }
  double number(const char* key) const { return number_in(key, *find(key, false)); }
  double number(const char* key, double otherwise) const {
    const Json* value = find(key, true);
    return value ? number_in(key, *value) : otherwise;
  }
  int count(const char* key, int otherwise) const {
    const Json* value = find(key, true);
    if (!value) return otherwise;
    const bool fits = value->is_number_integer() && value->get<int64_t>() == static_cast<int>(value->get<int64_t>());
    require(fits, "'{}' of {} must be a whole number, got {}", key, where_, shown(*value));
    return value->get<int>();
  }
  // Null where there is none.
  const Json* optional(const char* key) const { return find(key, true); }
  const Json& list(const char* key, bool optional) const {
    static const Json kNone = Json::array();
    const Json* value = find(key, optional);
    if (!value) return kNone;
    require(value->is_array(), "'{}' of {} must be a list, got {}", key, where_, shown(*value));
    return *value;
  }

 private:
  const Json* find(const char* key, bool optional) const {
    auto found = object_.find(key);
    require(optional || found != object_.end(), "{} has no '{}'", where_, key);
    return found == object_.end() ? nullptr : &*found;
  }
  double number_in(const char* key, const Json& value) const {
    require(value.is_number(), "'{}' of {} must be a number, got {}", key, where_, shown(value));
    return value.get<double>();
  }

  const Json& object_;
  std::string where_;
};

DeviceSpec read_device(const Json& json, size_t index) {
  const std::string where = fmt::format("device {}", index);
  const Fields fields(json, where, {"name", "reduce_bandwidth", "rates"});
  DeviceSpec device{fields.text("name"), fields.number("reduce_bandwidth", kUnlimited)};
  if (const Json* rates = fields.optional("rates")) {
    const Fields one(*rates, fmt::format("'rates' of {}", where), {"flops", "bandwidth", "launch"});
    device.rates = {one.number("flops", kUnlimited), one.number("bandwidth", kUnlimited), one.number("launch", 0)};
  }
  return device;
}

Json device_json(const DeviceSpec& device) {
  Json json = {{"name", device.name}};
  if (device.reduce_bandwidth != kUnlimited) json["reduce_bandwidth"] = device.reduce_bandwidth;
  if (device.rates.flops != kUnlimited) json["rates"]["flops"] = device.rates.flops;
  if (device.rates.bandwidth != kUnlimited) json["rates"]["bandwidth"] = device.rates.bandwidth;
  if (device.rates.launch != 0) json["rates"]["launch"] = device.rates.launch;
  return json;
}

LinkSpec read_link(const Json& json, size_t index) {
  const std::string where = fmt::format("link {}", index);
  const Fields fields(json, where, {"between", "bandwidth", "latency", "lanes", "duplex", "frame"});
  const Json& ends = fields.list("between", false);
  require(ends.size() == 2 && ends[0].is_string() && ends[1].is_string(),
          "'between' of {} must be two names, as in [\"gpu0\", \"switch\"]", where);
  const std::string duplex = fields.text("duplex", kFullName);
  require(duplex == kFullName || duplex == kSharedName, "'duplex' of {} must be '{}' or '{}', got '{}'", where,
          kFullName, kSharedName, duplex);
  Framing framing;
  if (const Json* frame = fields.optional("frame")) {
    const Fields one(*frame, fmt::format("'frame' of {}", where), {"payload", "overhead"});
    framing = {one.number("payload"), one.number("overhead")};
  }
  return {.from = ends[0].get<std::string>(),
          .to = ends[1].get<std::string>(),
          .bandwidth = fields.number("bandwidth"),
          .latency = fields.number("latency", 0),
          .lanes = fields.count("lanes", 1),
          .duplex = duplex == kFullName ? Duplex::kFull : Duplex::kShared,
          .framing = framing};
}

Json link_json(const LinkSpec& link) {
  Json json = {{"between", {link.from, link.to}},
               {"bandwidth", link.bandwidth},
               {"latency", link.latency},
               {"lanes", link.lanes},
               {"duplex", link.duplex == Duplex::kFull ? kFullName : kSharedName}};
  if (link.framing != Framing{})
    json["frame"] = {{"payload", link.framing.payload}, {"overhead", link.framing.overhead}};
  return json;
}

}  // namespace

TopologySpec read_topology(std::string_view text) {
  require(text.find_first_not_of(" \t\r\n") != text.npos, "this is no JSON: there is nothing in it");
  Json json;
  UniqueFields unique;
  try {
    json = Json::parse(text, std::ref(unique));
  } catch (const Json::exception& error) {
    fail(ErrorKind::kValue, "topology file: this is no JSON: {}", error.what());
  }
  const Fields fields(json, "the topology", {"name", "devices", "switches", "links"});
  TopologySpec spec;
  spec.name = fields.text("name", "custom");
  for (const Json& device : fields.list("devices", false))
    spec.devices.push_back(read_device(device, spec.devices.size()));
  for (const Json& item : fields.list("switches", true)) {
    const Fields one(item, fmt::format("switch {}", spec.switches.size()), {"name", "bandwidth"});
    spec.switches.push_back({one.text("name"), one.number("bandwidth", kUnlimited)});
  }
  for (const Json& link : fields.list("links", true)) spec.links.push_back(read_link(link, spec.links.size()));
  return spec;
}

std::string write_topology(const TopologySpec& spec) {
  Json json = {{"name", spec.name}, {"devices", Json::array()}, {"switches", Json::array()}, {"links", Json::array()}};
  for (const DeviceSpec& device : spec.devices) json["devices"].push_back(device_json(device));
  for (const SwitchSpec& one : spec.switches) {
    json["switches"].push_back({{"name", one.name}});
    if (one.bandwidth != kUnlimited) json["switches"].back()["bandwidth"] = one.bandwidth;
  }
  for (const LinkSpec& link : spec.links) json["links"].push_back(link_json(link));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

std::string text_of(const std::string& path) {
  constexpr size_t kMostBytes = size_t{16} << 20;
  try {
    return read_text_file(path, kMostBytes);
  } catch (const Error& error) {
    std::string forms;
    for (const Preset& preset : topology_presets()) (forms += forms.empty() ? "" : ", ") += preset.form;
    fail(ErrorKind::kOs, "topology: '{}' is neither a preset ({}) nor a file that can be read: {}", path, forms,
         error.what());
  }
}

}  // namespace

Topology load_topology(const std::string& preset_or_file) {
  for (const Preset& preset : topology_presets())
    if (std::optional<TopologySpec> spec = preset.make(preset_or_file)) {
      spec->name = preset_or_file;
      return Topology(*std::move(spec));
    }
  const std::string text = text_of(preset_or_file);
  try {
    return Topology(read_topology(text));
  } catch (const Error& error) {
    fail(error.kind(), "{}: {}", preset_or_file, error.what());
  }
}

}  // namespace headrace
