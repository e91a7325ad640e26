// Options as one place gave them (command line, file), before precedence and validation.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cinnabar/schema/option.h"
#include "cinnabar/schema/problem.h"
#include "cinnabar/schema/schema.h"
#include "cinnabar/schema/secrets.h"

namespace cinnabar::schema {

struct Given {
  Value value;           // unset: given as "nothing", for instance null
  std::string where;     // "command line", "train.toml:12", "preset.json"
  std::string text;      // as written, for messages
  bool is_asked = true;  // false: the default of a GUI for what its file lacks
};

// What became of one key of a foreign configuration.
struct ImportedKey {
  std::string key;
  std::string value;
  std::string action;  // used, renamed, derived, unset, ignored, later, unknown
  std::string option;  // where it went; may be empty
  std::string note;    // why, in a sentence without capital and period
};

struct Source {
  std::map<std::string, Given> values{};             // by the row's name
  std::map<std::string, Given> planned{};            // options without a row that ask for something (value: Text)
  std::vector<std::string> notices{};                // sentences for the user
  std::map<std::string, std::string> attachments{};  // option -> text that must become a file for it
  std::vector<ImportedKey> report{};                 // of a kohya_ss JSON, in the file's order
  std::vector<std::string> more_arguments{};         // command-line words that the file holds (additional_parameters)
  bool is_gui_file = false;
  std::string name{};                      // of the file, for messages
  std::optional<double> counted_epochs{};  // a kohya_ss JSON without steps: they follow from pictures and these epochs
};

// Words after the command. "--name value", "--name=value", "--flag", hyphens for underscores, lists up to the next
// option; words without a name go to the positional rows. `where` is used in messages.
void read_command_line(const Schema& schema, const std::vector<std::string>& words, const std::string& where,
                       Source& source, Problems& problems);

// A .toml, a kohya_ss GUI .json or a .json of ours, told apart by content. ".toml" is added when the file is missing
// without it. Throws Error{Io} when it cannot be read and Error{Config} when it is no TOML or JSON at all.
Source read_config_file(const Schema& schema, const std::filesystem::path& path, Problems& problems);

// The parts of read_config_file. `name` is what messages call the file.
void read_toml(const Schema& schema, const std::string& text, const std::string& name, Source& source,
               Problems& problems);
void read_own_json(const Schema& schema, const std::string& text, const std::string& name, Source& source,
                   Problems& problems);
void read_kohya_json(const Schema& schema, const std::string& text, const std::string& name, Source& source,
                     Problems& problems);

// Keys that a configuration of a run may have, known or not: a few hundred are known.
inline constexpr size_t kMaxConfigKeys = 4000;

// The error text for an unknown name, with the nearest known one.
std::string unknown_option_text(const Schema& schema, const std::string& name);

}  // namespace cinnabar::schema
