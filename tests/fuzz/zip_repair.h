// Makes the checksums of a zip archive right, so that what lies behind their check is reached by changed archives, too.
#pragma once

#include <vector>

#include "fuzz/fuzz_target.h"

namespace cinnabar::fuzz {

// A copy of `file` in which every entry that lies inside it has the checksum of its bytes, in front of them and in the
// directory. Anything else is left as it is.
std::vector<std::byte> with_checksums(Input file);

}  // namespace cinnabar::fuzz
