#include "cinnabar/optim/entry.h"

#include <algorithm>
#include <cctype>

#include "cinnabar/schema/key_values.h"

namespace cinnabar::optim {

namespace {

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

}  // namespace

base::Registry<Entry>& entries() {
  static base::Registry<Entry> registry("optimizer_type");
  return registry;
}

std::string entry_name(const std::string& optimizer_type) {
  if (optimizer_type.empty()) return "adamw";
  const std::string name = lower_case(optimizer_type);
  if (entries().find(name) != nullptr) return name;
  for (const std::string& key : entries().names()) {
    for (const std::string& alias : entries().at(key).aliases) {
      if (lower_case(alias) == name) return key;
    }
  }
  entries().at(name);  // throws the message with the known names
  return name;
}

schema::Values read_arguments(const std::string& entry, const std::vector<std::string>& arguments) {
  return schema::read_key_values("optimizer_args", arguments, entries().at(entry).options);
}

}  // namespace cinnabar::optim
