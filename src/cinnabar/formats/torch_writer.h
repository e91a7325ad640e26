// Writes torch.save files (.ckpt, .pt): a zip archive of stored entries with a pickle of one ordered dictionary, as
// torch 1.6 and later read it, also with weights_only.
#pragma once

#include <filesystem>
#include <vector>

#include "cinnabar/formats/safetensors_writer.h"

namespace cinnabar::formats {

// A dictionary name -> tensor, in the given order; each tensor has a storage of its own. There is no place for
// metadata. Atomic. Throws Error{Format} for an element type that torch has no storage for, a repeated name, bytes that
// do not fit the shape or a tensor of 4 GiB and more, Error{Io} or Error{OutOfSpace}.
void write_torch_file(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors);

}  // namespace cinnabar::formats
