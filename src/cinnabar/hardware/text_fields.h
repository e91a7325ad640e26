// Taking numbers, versions and words out of what sysfs files and vendor tools print.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::hardware {

// Without blanks, tabs and line ends at both ends.
std::string trimmed(std::string_view text);
std::string lowered(std::string_view text);
std::vector<std::string> lines_of(std::string_view text);
// Parts between separators, each trimmed.
std::vector<std::string> parts_of(std::string_view text, char separator);
// Those that are not empty.
std::string joined(const std::vector<std::string>& parts, const char* between = " ");
// The value of the first line "label : value"; empty when there is none.
std::string labelled(const std::string& text, std::string_view label);
// The same of a line that counts in kB ("MemTotal:  16384 kB"), in bytes.
std::optional<int64_t> labelled_bytes(const std::string& text, std::string_view label);
// Without the colours that some tools print even into a pipe.
std::string without_escapes(std::string_view text);
bool contains(std::string_view text, std::string_view part);
// Ignores the case of ASCII letters.
bool contains_words(std::string_view text, std::string_view words);

// False for "", "N/A", "[Not Supported]" and the like, which tools print for what they do not know.
bool is_known(std::string_view text);
// A whole text that is a decimal number or 0x and hexadecimal digits.
std::optional<int64_t> integer_of(std::string_view text);
// The number that a text begins with ("57.21 W", "29824(0x7480)"); nothing when it is unknown or no number.
std::optional<double> number_of(std::string_view text);
// The same as a whole number, cut; nothing outside of +-10^15.
std::optional<int64_t> whole_of(std::string_view text);
std::optional<int64_t> whole_of(double value);

// Versions are compared as lists of numbers: 7.14 is later than 7.9. "6.4.1-83" gives 6, 4, 1.
using Version = std::vector<int>;
Version version_of(std::string_view text);
bool is_at_least(const Version& version, std::initializer_list<int> least);
std::string version_text(const Version& version);

// As printf; at most 255 bytes.
template <class... Args>
std::string formatted(const char* pattern, Args... args) {
  std::array<char, 256> buffer{};
  std::snprintf(buffer.data(), buffer.size(), pattern, args...);
  return buffer.data();
}

// "8.0 GiB", "512 MiB".
std::string memory_text(int64_t bytes);
double gib(int64_t bytes);

}  // namespace cinnabar::hardware
