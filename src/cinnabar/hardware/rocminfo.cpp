#include "cinnabar/hardware/rocminfo.h"

#include <algorithm>
#include <utility>

#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace {

struct Field {
  size_t indent = 0;
  std::string label;
  std::string value;
};

Field field_of(const std::string& line) {
  const size_t indent = line.find_first_not_of(' ');
  const size_t colon = line.find(':');
  if (indent == std::string::npos || colon == std::string::npos) return {};
  return {indent, line.substr(indent, colon - indent), trimmed(std::string_view(line).substr(colon + 1))};
}

struct Agent {
  RocmAgent agent;
  std::string type;
  bool is_global_pool = false;
};

void take_field(Agent& current, const Field& field) {
  RocmAgent& agent = current.agent;
  if (field.indent == 2) {
    if (field.label == "Name") agent.name = field.value;
    if (field.label == "Marketing Name") agent.marketing_name = field.value;
    if (field.label == "Device Type") current.type = field.value;
    if (field.label == "Node") agent.node = whole_of(field.value);
    if (field.label == "Chip ID") agent.chip_id = whole_of(field.value);
    if (field.label == "BDFID") agent.location = whole_of(field.value);
    if (field.label == "Compute Unit") agent.compute_units = whole_of(field.value);
    if (field.label == "Wavefront Size") agent.wave_size = whole_of(field.value);
    if (field.label == "Memory Properties") agent.is_apu = contains(field.value, "APU");
  }
  if (field.indent == 6 && field.label == "Segment") current.is_global_pool = field.value.starts_with("GLOBAL");
  if (field.indent == 6 && field.label == "Size" && current.is_global_pool) {
    const auto kilobytes = whole_of(field.value);
    if (kilobytes && *kilobytes < int64_t{1} << 40)
      agent.memory_bytes = std::max(agent.memory_bytes.value_or(0), *kilobytes * 1024);
  }
}

Rocminfo::State failure_state(const std::string& text) {
  if (contains(text, "hsa api call failure") || contains(text, "HSA_STATUS_ERROR")) return Rocminfo::State::InitFailed;
  if (contains_words(text, "module is NOT loaded") || contains_words(text, "is not live"))
    return Rocminfo::State::NoDriver;
  if (contains(text, "Unable to open /dev/kfd") || contains(text, "is not member of")) return Rocminfo::State::NoAccess;
  return Rocminfo::State::Invalid;
}

std::vector<Agent> agents_of(const std::string& text) {
  std::vector<Agent> agents;
  bool is_row_of_stars = false;
  for (const std::string& line : lines_of(text)) {
    const std::string word = trimmed(line);
    if (is_row_of_stars && word.starts_with("Agent ")) agents.emplace_back();
    is_row_of_stars = word == "*******";
    if (!agents.empty()) take_field(agents.back(), field_of(line));
  }
  return agents;
}

}  // namespace

Rocminfo parse_rocminfo(const CommandResult& result) {
  if (!result.is_installed()) return {};
  const std::string text = without_escapes(result.output);
  if (result.exit != 0) {
    Rocminfo info{.state = failure_state(text)};
    for (const std::string& line : lines_of(text)) {
      if (contains(line, "Unable to open") || contains(line, "Call returned") || contains(line, "NOT loaded"))
        info.reason = trimmed(line);
    }
    return info;
  }
  Rocminfo info{.state = Rocminfo::State::Complete};
  for (Agent& agent : agents_of(text)) {
    // Cut off in the middle of an agent.
    if (agent.agent.name.empty() || agent.type.empty()) return {.state = Rocminfo::State::Invalid};
    if (agent.type == "GPU") info.agents.push_back(std::move(agent.agent));
  }
  if (!contains(text, "*** Done ***")) return {.state = Rocminfo::State::Invalid};
  return info;
}

}  // namespace cinnabar::hardware
