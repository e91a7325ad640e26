// Limits of TOML files, checked before the parser sees them: it recurses, and it has no limits of its own that suit.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cinnabar::schema {

struct TomlLimits {
  size_t depth = 64;  // lists, tables and the parts of dotted keys
  size_t keys = 100'000;
  size_t values = 500'000;  // elements of lists and tables
  size_t key_bytes = 256;   // of each part of a dotted key
};

// Whether the text begins as JSON does and as TOML cannot: with "{", or with a list of tables.
bool looks_like_json(std::string_view text);

// Throws Error{Config} that names file and line; JSON is refused, too. Other text that is no TOML may pass.
void check_toml(std::string_view text, const std::string& name, const TomlLimits& limits = {});

}  // namespace cinnabar::schema
