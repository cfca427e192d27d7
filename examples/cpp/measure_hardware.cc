// Measures this machine beside the latency numbers of "Dive into Deep Learning".
// Usage: measure_hardware [--quick] [--list] [--only NAME,...] [--directory DIR]
#include <cstdio>
#include <exception>
#include <headrace/error.hpp>
#include <headrace/hardware.hpp>
#include <sstream>
#include <string>
#include <vector>

using namespace headrace;

namespace {

struct Arguments {
  hardware::Options options;
  std::vector<std::string> names;
  bool list = false;
};

Arguments parse(int count, char** values) {
  Arguments arguments;
  const auto next = [&](int& i) -> std::string {
    if (i + 1 == count) throw Error(ErrorKind::kValue, std::string(values[i]) + " needs a value");
    return values[++i];
  };
  for (int i = 1; i < count; ++i) {
    const std::string argument = values[i];
    if (argument == "--quick") {
      arguments.options.quick = true;
    } else if (argument == "--list") {
      arguments.list = true;
    } else if (argument == "--directory") {
      arguments.options.directory = next(i);
    } else if (argument == "--only") {
      std::stringstream names(next(i));
      for (std::string name; std::getline(names, name, ',');) arguments.names.push_back(name);
    } else {
      throw Error(ErrorKind::kValue, "'" + argument + "' is none of --quick, --list, --only NAME,..., --directory DIR");
    }
  }
  return arguments;
}

void print_list() {
  for (const hardware::Description& description : hardware::descriptions())
    std::printf("%-12s %-20s %s\n", std::string(description.subject).c_str(), std::string(description.name).c_str(),
                std::string(description.what).c_str());
}

void measure(const Arguments& arguments) {
  hardware::Session session(arguments.options);
  std::vector<hardware::Measurement> measurements;
  for (std::string_view name : hardware::select(arguments.names)) measurements.push_back(session.measure(name));
  std::printf("%s", hardware::table(measurements).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments arguments = parse(argc, argv);
    if (arguments.list)
      print_list();
    else
      measure(arguments);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "measure_hardware: %s\n", error.what());
    return 2;
  }
}
