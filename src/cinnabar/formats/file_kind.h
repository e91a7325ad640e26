// What a model file is, by its first bytes, and what else people have under that name.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace cinnabar::formats {

enum class FileKind { Safetensors, Zip, Pickle, Gguf, Html, Json, LfsPointer, Zeros, Empty, Unknown };

// `head` is the beginning of the file, 512 bytes or all of a shorter one.
FileKind kind_of(std::span<const std::byte> head);

// The kind of a model file: Safetensors, or Zip for a file of torch.save. Throws Error{Io} when it cannot be read, and
// Error{Format} that says what the file is when it is neither, or when its extension says something else.
FileKind model_file_kind(const std::filesystem::path& path);

}  // namespace cinnabar::formats
