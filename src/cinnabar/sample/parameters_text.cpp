#include "cinnabar/sample/parameters_text.h"

#include <algorithm>

#include "cinnabar/formats/json_text.h"
#include "cinnabar/samplers/entry.h"

namespace cinnabar::sample {

namespace {

// Shortest form that shows six digits: "7.5", "1".
std::string number(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string label_of(const std::string& sampler) {
  const std::string& label = samplers::entries().at(sampler).label;
  return label.empty() ? sampler : label;
}

// "Key: value, Key: value"; values that would be taken for several are JSON strings.
class Line {
 public:
  void add(const std::string& key, const std::string& value) {
    const bool is_plain = value.find_first_of(",:\n") == std::string::npos;
    text_ += (text_.empty() ? "" : ", ") + key + ": " + (is_plain ? value : formats::json_string(value));
  }
  void add_unless_empty(const std::string& key, const std::string& value) {
    if (!value.empty()) add(key, value);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

bool takes_karras_sigmas(const std::string& sampler) {
  const auto& rows = samplers::entries().at(sampler).options;
  return std::any_of(rows.begin(), rows.end(), [](const schema::Option& row) { return row.name == "karras_sigmas"; });
}

std::string parameters_text(const SampleRequest& request, const PictureFacts& facts) {
  std::string text = request.prompt;
  std::string hashes;
  for (const LoraUse& lora : facts.loras) {
    text += (text.empty() ? "<lora:" : " <lora:") + lora.name + ":" + number(lora.weight) + ">";
    if (!lora.hash.empty()) hashes += (hashes.empty() ? "" : ", ") + lora.name + ": " + lora.hash;
  }
  if (!request.negative_prompt.empty()) text += "\nNegative prompt: " + request.negative_prompt;

  Line line;
  line.add("Steps", std::to_string(request.steps));
  line.add("Sampler", label_of(request.sampler));
  if (facts.has_karras_sigmas && takes_karras_sigmas(request.sampler)) line.add("Schedule type", "Karras");
  line.add("CFG scale", number(request.scale));
  line.add("Seed", std::to_string(request.seed));
  line.add("Size", std::to_string(request.width_px) + "x" + std::to_string(request.height_px));
  line.add_unless_empty("Model hash", facts.model_hash);
  line.add_unless_empty("Model", facts.model_name);
  if (facts.clip_skip > 1) line.add("Clip skip", std::to_string(facts.clip_skip));
  line.add_unless_empty("Lora hashes", hashes);
  line.add("Version", std::string("Cinnabar ") + CINNABAR_VERSION);
  return text + "\n" + line.text();
}

}  // namespace cinnabar::sample
