// JSON texts that lie beside models, checked before anybody builds a tree from them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace cinnabar::formats {

// True when brackets nest at most `limit` deep (a parser that recurses is then safe). `text` need not be valid.
bool is_nested_at_most(std::string_view text, size_t limit = 64);

// The content of a file that must be one JSON object of at most 16 MiB, nested at most 64 deep; for index files of
// sharded models too. Throws Error{Io} or Error{Format}.
std::string read_json_object(const std::filesystem::path& path);

// `text` as a JSON string with its quotes.
std::string json_string(std::string_view text);

}  // namespace cinnabar::formats
