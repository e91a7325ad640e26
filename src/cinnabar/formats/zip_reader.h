// The entries of a zip archive as views, for archives whose entries are stored without compression.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

namespace cinnabar::formats {

// Name to content, views into `file`. Zip64 is read. Nothing is extracted and checksums are not verified. Throws
// Error{Format} for a cut archive, compressed or encrypted entries, names that are absolute, leave the archive or
// repeat, and entries that overlap or lie outside; context() names the rule.
std::map<std::string, std::span<const std::byte>> read_stored_zip(std::span<const std::byte> file,
                                                                  const std::string& where);

}  // namespace cinnabar::formats
