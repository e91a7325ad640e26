// CRC-32 as zip archives have it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cinnabar::formats {

// Of all of `bytes`; large ones are shared among the processor's threads (a checkpoint has gigabytes).
uint32_t crc32_of(std::span<const std::byte> bytes);

}  // namespace cinnabar::formats
