#include "cinnabar/tensor/host_memory.h"

#include <malloc.h>
#include <sys/resource.h>

namespace cinnabar::tensor {

void keep_freed_memory() {
#ifdef __GLIBC__
  ::mallopt(M_MMAP_MAX, 0);         // large blocks come from the heap, too
  ::mallopt(M_TRIM_THRESHOLD, -1);  // whose end is not given back (mallopt(3))
#endif
}

int64_t pages_taken() {
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  return use.ru_minflt;
}

}  // namespace cinnabar::tensor
