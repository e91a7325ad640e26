// A resolved configuration as text: JSON for the worker and the run record, TOML for users.
#pragma once

#include <string>

#include "cinnabar/schema/resolve.h"

namespace cinnabar::schema {

// {"cinnabar_config": 1, "command": ..., "values": {...}}. Options of the front program alone are left out.
std::string config_json(const Schema& schema, const Config& config);
// NAME = VALUE, a line an option, in the schema's order.
std::string config_toml(const Schema& schema, const Config& config);
// What config_json wrote: types are those of the JSON values. Needs no schema. Throws Error{Format}.
Config parse_config_json(const std::string& text);

}  // namespace cinnabar::schema
