// The one precompiled header of all targets that use libtorch (style: 3 to 5 s a file instead of 11). Autograd's custom
// functions stay out of it: GCC instantiates again in each file what a precompiled header left pending, 1.4 s for them,
// and few files need them.
#include <ATen/ATen.h>
