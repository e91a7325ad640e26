// The schema as help for the terminal, as Markdown for the docs, and as JSON for forms.
#pragma once

#include <string>
#include <vector>

#include "cinnabar/schema/schema.h"

namespace cinnabar::schema {

// Groups with their options, wrapped at `columns`.
std::string help_text(const Schema& schema, size_t columns = 100);

// A command with its schema, for the page of all options.
struct DescribedCommand {
  std::string name;
  std::string help;
  Schema schema;
};
// The whole of docs/options.md.
std::string options_markdown(const std::vector<DescribedCommand>& commands);
// {"commands": [{"name", "help", "options": [...], "entries": [...]}], "planned": [...]}
std::string schema_json(const std::vector<DescribedCommand>& commands);

}  // namespace cinnabar::schema
