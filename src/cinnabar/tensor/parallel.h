// Work shared out among libtorch's own threads.
#pragma once

#include <cstdint>

#include <c10/util/FunctionRef.h>

namespace cinnabar::tensor {

// Calls work(unit) once for each of 0 .. units - 1, on as many threads as libtorch is set to (at::set_num_threads,
// OMP_NUM_THREADS); which thread takes which unit is not fixed, so a unit must not depend on others. Nested calls run
// in the calling thread. at::parallel_for of libtorch's headers works in one thread unless the caller is compiled for
// OpenMP, which would tie us to one runtime of it; this goes through a function inside the library.
// An exception of a unit comes out of the call; other units may be left out then.
void for_units(int64_t units, c10::function_ref<void(int64_t unit)> work);

// Calls work(begin, end) for pieces of [0, count) that have `piece` elements each but the last.
void for_ranges(int64_t count, int64_t piece, c10::function_ref<void(int64_t begin, int64_t end)> work);

// The calling thread's scratch memory of at least this many floats, aligned to 64 bytes. It grows and stays; what it
// holds is lost at the thread's next call with the same slot.
enum class Scratch : size_t { Kernel, Shared, Sums, Weight };
float* thread_scratch(Scratch slot, int64_t floats);

}  // namespace cinnabar::tensor
