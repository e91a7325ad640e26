// A TOML or JSON file as one tree, with the line of every value where the format tells it.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace cinnabar::data {

struct ConfigTree {
  std::string name;  // of the file, for messages
  nlohmann::ordered_json root;
  std::map<std::string, int64_t> lines;  // by JSON pointer; empty for JSON

  // "data.toml:14", or the file alone where no line is known.
  std::string where(const std::string& pointer) const;
};

// JSON when the text begins with a brace, else TOML. Throws Error{Io} when the file cannot be read, and Error{Config}
// with line and reason when it is neither.
ConfigTree read_config_tree(const std::filesystem::path& path);
ConfigTree parse_config_tree(const std::string& text, const std::string& name);

}  // namespace cinnabar::data
