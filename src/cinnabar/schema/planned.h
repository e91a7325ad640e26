// Options of sd-scripts that are known here but have no row of their own: not built yet, or without anything to do.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cinnabar::schema {

enum class PlannedKind {
  Later,          // not supported yet, and the result would differ without it: always an error when it is used
  LaterHarmless,  // not supported yet, but the result does not depend on it: an error, in a kohya_ss JSON a notice
  NoEffect,       // accepted with a notice: what it asks for happens anyway or has no meaning here
};

struct PlannedOption {
  std::string_view name;
  PlannedKind kind;
  std::string_view why;       // the part of the program that it waits for, or why it has no effect
  std::string_view fallback;  // the reference's default as text; a value equal to it asks for nothing
};

std::span<const PlannedOption> planned_options();
// nullptr when unknown.
const PlannedOption* find_planned(std::string_view name);

// Values of selecting options that the reference knows and that have no entry here yet; letter case does not count.
bool is_planned_value(const std::string& option, std::string value);

}  // namespace cinnabar::schema
