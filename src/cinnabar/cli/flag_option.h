// Rows of subcommands that have options of their own.
#pragma once

#include "cinnabar/schema/option.h"

namespace cinnabar::cli {

// A switch that is off unless given.
inline schema::Option flag_option(const char* group, const char* name, const char* label, const char* help) {
  return {.name = name, .type = schema::Type::Flag, .fallback = false, .group = group, .label = label, .help = help};
}

}  // namespace cinnabar::cli
