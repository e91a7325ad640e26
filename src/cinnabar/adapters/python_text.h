// Values as Python prints them: metadata of adapter files is read by programs that expect str() and json.dumps of
// Python.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "cinnabar/schema/option.h"

namespace cinnabar::adapters {

// Shortest digits that read back as the same number: "0.0001", "5e-05", "1.0", "1e+16", "inf", "nan".
std::string python_float(double value);
// "None", "True", "16", "8.0", text as it is, lists "[0.0001, 0.0001]" and "['a', 'b']".
std::string python_str(const schema::Value& value);
// A literal as the user wrote it, the way Python would print it again: "betas=0.9,0.99" has the value "(0.9, 0.99)".
std::string python_literal(const std::string& text);
// json.dumps with its default settings: ", " and ": ", non-ASCII as \uXXXX, floats as above.
std::string python_json(const nlohmann::ordered_json& value);

}  // namespace cinnabar::adapters
