#include "cinnabar/hardware/anonymise.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace {

constexpr size_t kShortestSerial = 14;

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_word(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool stands_alone(const std::string& text, size_t at, size_t size) {
  const bool is_begin = at == 0 || !is_word(text[at - 1]);
  const bool is_end = at + size >= text.size() || !is_word(text[at + size]);
  return is_begin && is_end;
}

std::string without(std::string text, const std::string& secret) {
  for (size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at)) {
    if (stands_alone(text, at, secret.size())) text.replace(at, secret.size(), "someone");
    ++at;
  }
  return text;
}

bool is_uuid(const std::string& text, size_t at) {
  constexpr std::array<size_t, 4> kDashes{8, 13, 18, 23};
  if (at + 36 > text.size()) return false;
  for (size_t i = 0; i < 36; ++i) {
    const bool is_dash = std::find(kDashes.begin(), kDashes.end(), i) != kDashes.end();
    if (is_dash ? text[at + i] != '-' : !is_hex(text[at + i])) return false;
  }
  return true;
}

std::string without_serials(std::string text) {
  for (size_t at = 0; at < text.size();) {
    if (is_uuid(text, at)) {
      for (size_t i = 0; i < 36; ++i) text[at + i] = text[at + i] == '-' ? '-' : '0';
      at += 36;
      continue;
    }
    size_t end = at;
    while (end < text.size() && is_hex(text[end])) ++end;
    if (end - at >= kShortestSerial)
      std::fill(text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(end), '0');
    at = std::max(end, at + 1);
  }
  return text;
}

// Lines that begin with one of `labels`, each label once.
std::string lines_with(const std::string& text, const std::vector<std::string>& labels) {
  std::string kept;
  for (const std::string& label : labels) {
    for (const std::string& line : lines_of(text)) {
      if (!line.starts_with(label)) continue;
      kept += line + "\n";
      break;
    }
  }
  return kept;
}

std::string kernel_options(const std::string& text) {
  std::string kept;
  for (const std::string& part : parts_of(text, ' ')) {
    for (const char* begin : {"iommu=", "amd_iommu=", "intel_iommu=", "amdgpu.", "pci=", "amdttm."}) {
      if (part.starts_with(begin)) kept += (kept.empty() ? "" : " ") + part;
    }
  }
  return kept + "\n";
}

}  // namespace

Anonymiser::Anonymiser(std::vector<std::string> secrets) : secrets_(std::move(secrets)) {
  std::erase_if(secrets_, [](const std::string& secret) { return secret.size() < 2; });
  std::sort(secrets_.begin(), secrets_.end(),
            [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
}

Anonymiser Anonymiser::of_this_machine(const std::string& user_name) {
  std::array<char, 256> host{};
  std::vector<std::string> secrets;
  // "root" is no name of a person, and a word of many paths.
  if (user_name != "root") secrets.push_back(user_name);
  if (::gethostname(host.data(), host.size() - 1) == 0) secrets.emplace_back(host.data());
  if (const char* home = std::getenv("HOME"); home != nullptr && std::string(home) != "/root")
    secrets.emplace_back(home);
  return Anonymiser(std::move(secrets));
}

std::string Anonymiser::text(const std::string& original) const {
  // A colour's code ends in a letter, which would hide the beginning of a name.
  std::string result = without_escapes(original);
  for (const std::string& secret : secrets_) result = without(result, secret);
  return without_serials(result);
}

std::string Anonymiser::file(const std::string& path, const std::string& original) const {
  if (path == "/proc/cmdline") return kernel_options(original);
  if (path == "/proc/cpuinfo") return lines_with(original, {"model name", "flags"});
  if (path == "/proc/self/status") return lines_with(original, {"Cpus_allowed_list"});
  if (path == "/proc/meminfo") return lines_with(original, {"MemTotal", "MemAvailable"});
  if (path == "/etc/os-release") return text(lines_with(original, {"PRETTY_NAME="}));
  if (path == "/usr/share/libdrm/amdgpu.ids") return original + "\n";
  if (path.ends_with("/uevent")) return lines_with(original, {"DRIVER=", "PCI_ID=", "PCI_SLOT_NAME="});
  if (path.ends_with("/properties")) {
    std::string kept;
    for (const std::string& line : lines_of(original)) {
      if (!line.starts_with("unique_id") && !line.starts_with("hive_id")) kept += line + "\n";
    }
    return kept;
  }
  return text(original) + "\n";
}

std::string Anonymiser::variable(const std::string& value) const {
  const bool is_system = value.starts_with("/opt/") || value.starts_with("/usr/");
  if (contains(value, "/") && (!is_system || contains(value, ":"))) return "PATH-LEFT-OUT";
  return text(value);
}

}  // namespace cinnabar::hardware
