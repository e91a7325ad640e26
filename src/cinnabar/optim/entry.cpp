#include "cinnabar/optim/entry.h"

#include <algorithm>
#include <cctype>

#include "cinnabar/schema/key_values.h"

namespace cinnabar::optim {

base::Registry<Entry>& entries() {
  static base::Registry<Entry> registry("optimizer_type");
  return registry;
}

std::string entry_name(const std::string& optimizer_type) {
  if (optimizer_type.empty()) return "adamw";
  std::string name = optimizer_type;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  entries().at(name);
  return name;
}

schema::Values read_arguments(const std::string& entry, const std::vector<std::string>& arguments) {
  return schema::read_key_values("optimizer_args", arguments, entries().at(entry).options);
}

}  // namespace cinnabar::optim
