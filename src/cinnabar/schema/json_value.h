// A JSON (or TOML) value as an option's value: types are kept where sd-scripts keeps them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cinnabar/base/error.h"
#include "cinnabar/schema/option.h"

namespace cinnabar::schema {

// null is unset. Whole numbers stay whole for Float options, as the metadata of files shows the type. Numbers written
// as text are read. The error's message is what was expected.
base::Result<Value> value_from_json(const Option& option, const nlohmann::ordered_json& json);
// For messages and reports: texts without quotes.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace cinnabar::schema
