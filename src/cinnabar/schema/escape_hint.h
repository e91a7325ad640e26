// Windows paths in quoted texts: "C:\new\table" holds a line break and a tab, since \n and \t are escapes.
#pragma once

#include <cstdint>
#include <string>

namespace cinnabar::schema {

// For a line that does not parse: "; a backslash in \"...\" begins an escape: ...", when it holds a quoted text with a
// single backslash; else "".
std::string escape_hint(const std::string& line);
// For a path that was read: what is wrong with it, when it holds control characters that only escapes put there; else
// "". Shows the path as it was probably meant.
std::string control_character_problem(const std::string& path);

// From 1; "" when there is no such line.
std::string line_of(const std::string& text, int64_t line);
// The line that holds a byte (from 0; past the end: the last one).
std::string line_at(const std::string& text, size_t byte);

}  // namespace cinnabar::schema
