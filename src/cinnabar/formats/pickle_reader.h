// Reads the pickle part of torch.save files as plain data. Nothing is imported, called or executed: the few names that
// a state dict needs map to fixed constructors here, any other name or instruction ends the reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cinnabar/formats/dtype.h"

namespace cinnabar::formats {

// A tensor as the file describes it; nothing is checked against the storage's size yet.
struct PickledTensor {
  Dtype dtype = Dtype::F32;
  std::string storage_key;    // names the entry "data/KEY" of the archive
  uint64_t storage_size = 0;  // elements
  uint64_t offset = 0;        // elements
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // elements
};

// The named tensors of the top dictionary, or of its dictionary "state_dict" where there is one; other values are left
// out. Throws Error{Format}: context() is "forbidden_global" (the message names it and advises a conversion in a
// sandbox), "forbidden_opcode", or the name of another broken rule.
std::map<std::string, PickledTensor> read_pickled_tensors(std::span<const std::byte> pickle, const std::string& where);

}  // namespace cinnabar::formats
