// Which layers adapters attach to, and under which names, against files that the reference trainer wrote.
#include <algorithm>
#include <set>

#include "cinnabar/formats/checkpoint.h"
#include "cinnabar/models/model_family.h"
#include "parity/golden_tensors.h"
#include "parity/reporter.h"

namespace cinnabar::parity {

namespace {

// The layer names of an adapter file, in file order.
std::vector<std::string> layers_of(const formats::Checkpoint& file) {
  constexpr std::string_view kEnding = ".lora_down.weight";
  std::vector<std::string> names;
  for (const auto& [name, view] : file.tensors()) {
    if (name.ends_with(kEnding)) names.push_back(name.substr(0, name.size() - kEnding.size()));
  }
  return names;
}

void check(const std::filesystem::path& file, const std::filesystem::path& base, bool is_extended, Reporter& reporter) {
  const auto model = models::load_model(base.string(), {});
  std::vector<std::string> found;
  for (const models::AdapterTarget& target : model->adapter_targets()) {
    if (is_extended || !target.is_extended) found.push_back(target.name);
  }
  const std::vector<std::string> expected = layers_of(*formats::Checkpoint::open(file));
  const auto [a, b] = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end());
  const bool is_equal = a == found.end() && b == expected.end();
  reporter.result("targets of " + file.stem().string(), is_equal ? 0.0 : 1.0, 0.0,
                  is_equal ? std::to_string(found.size()) + " layers, in order"
                           : "first difference: " + (a == found.end() ? "end" : *a) + ", expected " +
                                 (b == expected.end() ? "end" : *b));
}

// MODEL_lora.safetensors and MODEL_lora_conv.safetensors, with the base models beside the folder.
void run(const std::filesystem::path& folder, Reporter& reporter) {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.insert(entry.path());
  for (const std::filesystem::path& file : files) {
    std::string name = file.filename().string();
    const bool is_extended = name.ends_with("_lora_conv.safetensors");
    if (!is_extended && !name.ends_with("_lora.safetensors")) continue;
    name.resize(name.find("_lora"));
    const std::filesystem::path models = folder.parent_path() / "models";
    const std::filesystem::path settings = models / (name + ".json");
    if (!std::filesystem::exists(settings)) continue;
    const std::string architecture = read_json(settings).value("arch", "");
    const auto families = models::model_families().names();
    const auto checkpoint = formats::Checkpoint::open(models / (name + ".safetensors"));
    if (std::none_of(families.begin(), families.end(), [&](const std::string& family) {
          return models::model_families().at(family).recognises(*checkpoint);
        })) {
      reporter.skip("targets of " + file.stem().string(), "the family " + architecture + " is not built yet");
      continue;
    }
    check(file, models / (name + ".safetensors"), is_extended, reporter);
  }
}

CINNABAR_PARITY_GROUP(adapter_targets, "adapters.targets", run);

}  // namespace

}  // namespace cinnabar::parity
