// How the C library treats memory that is freed on the CPU.
#pragma once

namespace cinnabar::tensor {

// From here on freed memory stays with the process for the next step, instead of going back to the system, which hands
// it out anew page by page. With another C library than glibc nothing changes.
void keep_freed_memory();

}  // namespace cinnabar::tensor
