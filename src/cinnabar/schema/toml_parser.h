// toml++, whose assertions throw: in version 3.3 some can be reached by a text ("[ =]"), and would end the program.
// Included instead of the library everywhere, since all parts of a program must see the same.
#pragma once

#include "cinnabar/base/error.h"

namespace cinnabar::schema {

[[noreturn]] inline void toml_assertion_failed() {
  throw base::Error(base::ErrorCode::Config, "not valid TOML, in a way that the parser has no words for");
}

}  // namespace cinnabar::schema

// Without assertions the library lets the compiler assume that they hold.
#ifdef NDEBUG
#define CINNABAR_HAD_NDEBUG
#undef NDEBUG
#endif
#define TOML_ASSERT(expression) ((expression) ? static_cast<void>(0) : ::cinnabar::schema::toml_assertion_failed())
#include <toml++/toml.h>
#ifdef CINNABAR_HAD_NDEBUG
#define NDEBUG
#undef CINNABAR_HAD_NDEBUG
#endif
