// Values from text and back: the rules of the command line (sd-scripts' types) and how values are shown.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cinnabar/base/error.h"
#include "cinnabar/schema/option.h"

namespace cinnabar::schema {

// One text as the option's type. The error's message is what was expected. Range and choices are checked by
// check_value.
base::Result<Value> parse_value(const Option& option, std::string_view text);
// Several texts, for list types; other types take exactly one.
base::Result<Value> parse_values(const Option& option, const std::vector<std::string>& texts);
// Range and choices. Returns what is expected, or an empty text when the value is fine.
std::string check_value(const Option& option, const Value& value);
// "a whole number from 1 to 1024", "one of no, bf16": for messages and help.
std::string expected_text(const Option& option);
// An Error{Config} of that.
base::Error expected(const Option& option);
// As a user would write it: true, 0.0001, [a, b]; an unset value gives "".
std::string value_text(const Value& value);
// Shortest decimal form that reads back the same; always with a point or an exponent.
std::string number_text(double value);

// Whole text as a number, or nothing.
std::optional<int64_t> parse_integer(std::string_view text);
std::optional<double> parse_number(std::string_view text);

}  // namespace cinnabar::schema
