// Builds small zip archives and pickles byte by byte, good ones and bad ones.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::formats {

// Little-endian number of `count` bytes.
std::string little_endian(uint64_t value, int count);

// A zip archive with stored entries. `method` stands in both records of every entry.
std::string make_zip(const std::vector<std::pair<std::string, std::string>>& entries, uint16_t method = 0);

// Pieces of a pickle of protocol 2.
namespace piece {
std::string text(const std::string& value);
std::string number(uint32_t value);
std::string tuple(const std::vector<std::string>& items);
std::string global(const std::string& module, const std::string& name);
std::string storage(const std::string& type, const std::string& key, uint32_t size);
std::string tensor(const std::string& storage, uint32_t offset, const std::vector<uint32_t>& sizes,
                   const std::vector<uint32_t>& strides);
std::string dictionary(const std::vector<std::pair<std::string, std::string>>& items);  // values are pieces
std::string pickle(const std::string& value);                                           // with PROTO and STOP
}  // namespace piece

// What torch.save would write for a pickle and its storages "0", "1", ...
std::string make_torch_zip(const std::string& pickle, const std::vector<std::string>& storages);

}  // namespace cinnabar::formats
