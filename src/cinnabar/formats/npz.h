// numpy's .npz: a zip archive of .npy arrays, as numpy.savez writes it (not compressed). Nothing in it is executed:
// arrays of Python objects are refused.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cinnabar/formats/checkpoint.h"

namespace cinnabar::formats {

// In row-major order, little-endian.
struct NpyArray {
  Dtype dtype = Dtype::F32;
  std::vector<int64_t> shape;  // empty: one number
  std::vector<std::byte> bytes;

  TensorView view() const { return {dtype, shape, bytes}; }
};

using NpzArrays = std::map<std::string, NpyArray>;  // by name, without ".npy"

// Throws Error{Io}, or Error{Format} that names file, array and rule: no zip archive, compressed, an element type other
// than float16/32/64, int8 to int64, uint8 and bool, big-endian numbers, a header that is no dictionary of the three
// known keys, data longer or shorter than the shape says. `max_bytes` limits the file.
NpzArrays read_npz(const std::filesystem::path& path, uint64_t max_bytes = uint64_t{256} << 20);
NpzArrays read_npz(std::span<const std::byte> file, const std::string& where);

// Atomic. Names sorted; the same arrays give the same bytes. Throws Error{Format} for element types that numpy does not
// have (bf16, fp8), Error{Io} or Error{OutOfSpace}.
void write_npz(const std::filesystem::path& path, const NpzArrays& arrays);

}  // namespace cinnabar::formats
