// Whether a picture file is all there, from the lengths and marks in it: finds cut-off files without decoding them.
#pragma once

#include <filesystem>
#include <string>

#include "cinnabar/data/picture_probe.h"

namespace cinnabar::data {

// What is missing or broken, in words, or "" when the file seems complete. PNG: its chunks up to the last one; JPEG:
// the mark of the end behind the first scan; GIF: its last byte; WebP: its length. Other kinds have no mark of an end.
// Reads a few bytes a chunk, and at most the last 64 KiB. Throws Error{Io}.
std::string missing_end(const std::filesystem::path& path, PictureKind kind);
// The same for a file that is open already.
std::string missing_end(ByteSource& source, PictureKind kind);

}  // namespace cinnabar::data
