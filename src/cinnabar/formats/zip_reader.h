// The entries of a zip archive as views, for archives whose entries are stored without compression.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

namespace cinnabar::formats {

// Name to content, views into `file`. Zip64 is read, nothing is extracted. Throws Error{Format} for a cut archive,
// compressed or encrypted entries, names that are absolute, leave the archive or repeat, entries that overlap or lie
// outside, a directory that disagrees with the records in front of the contents or with its own end, and contents
// whose checksum is wrong; context() names the rule. A checksum of 0 counts as none: torch.save writes that after
// set_crc32_options(False).
std::map<std::string, std::span<const std::byte>> read_stored_zip(std::span<const std::byte> file,
                                                                  const std::string& where);

}  // namespace cinnabar::formats
