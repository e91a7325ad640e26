// What may be done with parts of files that a MappedFile has in memory.
#pragma once

#include <cstddef>
#include <span>

namespace cinnabar::base {

// Whether `bytes` are part of a mapped file.
bool is_mapped(std::span<const std::byte> bytes);

// The pages that lie wholly within `bytes` leave the process's memory; reading them again brings them back from the
// file. To be called for bytes that were copied elsewhere and are not looked at again soon. Does nothing, and returns
// false, for bytes that are not part of a mapped file. Whatever was written to these pages is lost.
bool drop_pages(std::span<const std::byte> bytes);

// Lets the process write to `bytes` without changing the file: a page that is written to becomes a private copy. False
// when that is not possible, or for bytes that are not part of a mapped file.
bool allow_private_writes(std::span<const std::byte> bytes);

}  // namespace cinnabar::base
