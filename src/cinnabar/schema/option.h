// One row of the option schema: the single description from which command line, files, help, docs and forms come.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cinnabar::schema {

// Steps: a whole number is a count of steps, a fraction below 1 (or "10%") is a share of max_train_steps.
enum class Type {
  Flag,
  Int,
  Float,
  Text,
  Path,
  TextList,
  FloatList,
  Steps,
  Size
};  // Size: "512" or "512,768" (width, height)
enum class Level { Basic, Advanced, Expert };
// What a Path must name when the run starts. Output folders and files to be made are Any.
enum class PathKind { Any, File, Folder, FileOrFolder };

using Value =
    std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<std::string>, std::vector<double>>;

struct Range {
  double low;
  double high;
};

struct Option {
  std::string name;                    // sd-scripts' name, with underscores
  std::vector<std::string> aliases{};  // other names that mean the same
  Type type = Type::Text;
  Value fallback{};                    // monostate: unset
  std::optional<Range> range{};        // allowed, inclusive
  std::optional<Range> typical{};      // what forms propose
  std::vector<std::string> choices{};  // allowed texts, if not empty
  std::string group{};                 // section of help, docs and forms, e.g. "Method"
  Level level = Level::Basic;
  std::string unit{};
  std::string shown_if{};  // where it counts, for forms and for notes (condition.h), e.g. "noise_offset > 0"
  std::string label{};
  std::string help{};             // one or two full sentences
  PathKind path = PathKind::Any;  // of Type::Path
  bool is_positional = false;     // may stand on the command line without its name
  bool is_repeatable = false;     // lists: given twice, the items add up; otherwise the last one counts
  bool accepts_embedded = false;  // of Type::Path: the word "embedded" stands for what the program carries
  bool is_for_front = false;      // read by the starting program alone, not part of a run's configuration
};

}  // namespace cinnabar::schema
