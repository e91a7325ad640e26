// The one precompiled header of all targets that use libtorch (style: 3 to 5 s a file instead of 11).
#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
