// Files of torch.save (.ckpt, .pt, .pth, .bin; zip format, torch 1.6 and later) as named tensors; nothing is executed.
#pragma once

#include <filesystem>
#include <memory>

#include "cinnabar/formats/checkpoint.h"

namespace cinnabar::formats {

// Contiguous tensors are views into the mapped file, others are copied. Throws Error{Io} or Error{Format}, whose
// context() names the broken rule.
std::unique_ptr<Checkpoint> open_torch_file(const std::filesystem::path& path);

}  // namespace cinnabar::formats
