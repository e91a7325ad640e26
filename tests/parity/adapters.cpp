// Adapter files against the outputs and merged weights of the programs that made them.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <set>

#include "cinnabar/adapters/adapter_set.h"
#include "cinnabar/formats/adapter_hashes.h"
#include "cinnabar/models/model_family.h"
#include "cinnabar/tensor/convert.h"
#include "parity/golden_tensors.h"
#include "parity/reporter.h"

namespace cinnabar::parity {

namespace {

// goldens/adapters/README.md: absolute.
constexpr double kOutput = 3e-5;
constexpr double kMerged = 1e-6;

std::string model_of(const std::string& stem) { return stem.substr(0, stem.find('_')); }

// Why the file cannot be read by the kinds that are built; empty when it can.
std::string unknown_part(const formats::Checkpoint& file) {
  const std::set<std::string> known{"lora_down.weight", "lora_up.weight", "alpha"};
  for (const auto& [key, view] : file.tensors()) {
    const std::string suffix = key.substr(std::min(key.find('.') + 1, key.size()));
    if (!known.contains(suffix)) return "kind not built yet (" + key + ")";
  }
  return {};
}

// Golden names and values; of SDXL's two encoders what the U-Net gets of each.
std::vector<std::pair<std::string, at::Tensor>> run(models::DiffusionModel& model, const GoldenTensors& inputs,
                                                    int64_t first_width) {
  models::Tokens tokens{.ids = {inputs.at("input_ids").unsqueeze(1)}};
  models::Conditioning conditioning{.context = inputs.at("context")};
  std::vector<std::pair<std::string, at::Tensor>> outputs;
  if (inputs.has("input_ids2")) {
    tokens.ids.push_back(inputs.at("input_ids2").unsqueeze(1));
    conditioning.vector = inputs.at("y");
    const at::Tensor states = model.encode_text(tokens, {}).context;  // [B, T, D1 + D2]
    outputs = {{"te1_hidden11", states.narrow(2, 0, first_width)},
               {"te2_penultimate", states.narrow(2, first_width, states.size(2) - first_width)}};
  } else {
    outputs = {{"te_last", model.encode_text(tokens, {}).context}};
  }
  outputs.emplace_back("unet_out", model.predict(inputs.at("sample"), inputs.at("timesteps"), conditioning));
  return outputs;
}

void compare_outputs(models::DiffusionModel& model, const GoldenTensors& inputs, const GoldenTensors& io,
                     const std::string& prefix, const std::string& label, Reporter& reporter) {
  const std::string first = prefix + ".te1_hidden11";
  const int64_t first_width = io.has(first) ? io.at(first).size(2) : 0;
  for (const auto& [name, value] : run(model, inputs, first_width)) {
    const std::string key = prefix + "." + name;
    if (io.has(key)) reporter.result(label + " " + name, largest_difference(value, io.at(key)), kOutput);
  }
}

// "mult0.7.unet_out" -> "0.7", for every multiplier that the golden has with this beginning.
std::set<std::string> multipliers(const GoldenTensors& io, const std::string& beginning) {
  std::set<std::string> result;
  for (const auto& [key, view] : io.checkpoint().tensors()) {
    if (!key.starts_with(beginning)) continue;
    const size_t start = beginning.size();
    const size_t first_dot = key.find('.', start);
    result.insert(key.substr(start, key.find('.', first_dot + 1) - start));
  }
  return result;
}

void check_merged(const std::vector<models::AdapterTarget>& targets, adapters::AdapterSet& set, const GoldenTensors& io,
                  const std::string& label, Reporter& reporter) {
  std::vector<at::Tensor> originals;
  for (const models::AdapterTarget& target : targets) originals.push_back(target.layer->weight.clone());
  for (const std::string& multiplier : multipliers(io, "merged")) {
    set.merge(std::stod(multiplier));
    double largest = 0.0;
    std::string worst;
    size_t compared = 0;
    for (size_t i = 0; i < targets.size(); ++i) {
      const std::string key = "merged" + multiplier + "." + targets[i].name;
      if (io.has(key)) {
        // The reference has SD 2's linear projections as 1x1 convolutions.
        const at::Tensor& weight = targets[i].layer->weight;
        const double difference = largest_difference(weight, without_unit_sides(io.at(key), weight));
        if (!(difference < largest)) {
          largest = difference;
          worst = targets[i].name;
        }
        ++compared;
      }
      targets[i].layer->weight.copy_(originals[i]);
    }
    if (compared == 0)
      reporter.fail(label + " merged at " + multiplier, "no merged layer is one of the model's");
    else
      reporter.result(label + " merged at " + multiplier, largest, kMerged, worst);
  }
}

// The loaded tensors, saved again in the file's types, have the file's own hash: names, shapes and values survive.
// Files without alpha mean the rank; we always write it.
void check_round_trip(const adapters::AdapterSet& set, const formats::Checkpoint& file, const std::string& label,
                      Reporter& reporter) {
  auto values = set.file_tensors();
  std::vector<formats::NamedTensor> tensors;
  bool is_equal = true;
  for (auto& [name, value] : values) {
    if (const formats::TensorView* stored = file.find(name)) {
      value = value.to(tensor::copy(*stored).scalar_type());
      tensors.push_back({name, tensor::view_of(value)});
      continue;
    }
    const std::string layer = name.substr(0, name.find('.'));
    const formats::TensorView* down = name == layer + ".alpha" ? file.find(layer + ".lora_down.weight") : nullptr;
    is_equal = is_equal && down != nullptr && value.item<double>() == static_cast<double>(down->shape.at(0));
  }
  std::vector<formats::NamedTensor> original;
  for (const auto& [name, view] : file.tensors()) original.push_back({name, view});
  is_equal = is_equal && formats::sshs_model_hash(tensors) == formats::sshs_model_hash(original);
  reporter.result(label + " loaded and saved again", is_equal ? 0.0 : 1.0, 0.0, "model hash");
}

void check_case(const std::filesystem::path& folder, const std::string& stem, models::DiffusionModel& model,
                Reporter& reporter) {
  const at::NoGradGuard no_gradients;
  const GoldenTensors inputs(folder / (model_of(stem) + "_inputs.safetensors"));
  const GoldenTensors io(folder / (stem + "_io.safetensors"));
  const GoldenTensors file(folder / (stem + ".safetensors"));
  const std::vector<models::AdapterTarget> targets = model.adapter_targets();
  compare_outputs(model, inputs, io, "base", stem + " base", reporter);

  adapters::LoadReport report;
  const auto set = adapters::AdapterSet::from_file(targets, file.checkpoint(), {}, &report);
  reporter.result(stem + " keys without a layer", static_cast<double>(report.unmatched.size()), 0.0,
                  report.unmatched.empty() ? "" : report.unmatched.front());
  for (const std::string& multiplier : multipliers(io, "mult")) {
    set->set_multiplier(std::stod(multiplier));
    compare_outputs(model, inputs, io, "mult" + multiplier, stem + " multiplier " + multiplier, reporter);
  }
  set->set_multiplier(1.0);
  check_round_trip(*set, file.checkpoint(), stem, reporter);
  check_merged(targets, *set, io, stem, reporter);  // detaches

  const std::filesystem::path peft = folder / (stem + "_peft.safetensors");
  if (!std::filesystem::exists(peft)) return;
  const auto same = adapters::AdapterSet::from_file(targets, *formats::Checkpoint::open(peft), {}, &report);
  reporter.result(stem + " PEFT keys without a layer", static_cast<double>(report.unmatched.size()), 0.0,
                  report.unmatched.empty() ? "" : report.unmatched.front());
  compare_outputs(model, inputs, io, "mult1.0", stem + " PEFT", reporter);
  same->detach();
}

void check_adapters(const std::filesystem::path& folder, Reporter& reporter) {
  std::set<std::string> stems;
  const std::string ending = "_io.safetensors";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(ending)) stems.insert(name.substr(0, name.size() - ending.size()));
  }
  for (const std::string& stem : stems) {
    const std::filesystem::path model_file = folder.parent_path() / "models" / (model_of(stem) + ".safetensors");
    const auto checkpoint = formats::Checkpoint::open(model_file);
    const auto families = models::model_families().names();
    const bool is_known = std::any_of(families.begin(), families.end(), [&](const std::string& name) {
      return models::model_families().at(name).recognises(*checkpoint);
    });
    const std::string unknown = unknown_part(*formats::Checkpoint::open(folder / (stem + ".safetensors")));
    if (!is_known || !unknown.empty()) {
      reporter.skip(stem, is_known ? unknown : "model family not built yet");
      continue;
    }
    try {
      check_case(folder, stem, *models::load_model(model_file.string(), {}), reporter);
    } catch (const std::exception& error) {
      reporter.fail(stem, error.what());
    }
  }
}

CINNABAR_PARITY_GROUP(adapters, "adapters", check_adapters);

}  // namespace

}  // namespace cinnabar::parity
