// Memory of this process on the CPU: what is freed, and what is asked of the system.
#pragma once

#include <cstdint>

namespace cinnabar::tensor {

// From here on freed memory stays with the process for the next step, instead of going back to the system, which hands
// it out anew page by page. With another C library than glibc nothing changes.
void keep_freed_memory();

// Pages that this process took from the system so far: memory that it touched for the first time, or anew after it had
// been given back (getrusage(2), ru_minflt).
int64_t pages_taken();

}  // namespace cinnabar::tensor
