// Places in the code where a test may let a fault happen, by CINNABAR_FAULT in the environment; without the variable
// they cost a comparison. `KIND@NAME` acts the first time, `KIND@NAME:N` the N-th time (from 1), `KIND@NAME:N+` from
// then on. Kinds: "memory" throws std::bad_alloc, "hang" never comes back, "nan" makes fault_point() true, and its
// caller spoils the value that it is about to use.
#pragma once

#include <string_view>

namespace cinnabar::base {

bool fault_point(std::string_view name);

}  // namespace cinnabar::base
