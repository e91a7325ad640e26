#include "faults/soak/engine_run.h"

#include <stdlib.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include <ATen/ATen.h>

#include "cinnabar/adapters/registry.h"
#include "cinnabar/base/events.h"
#include "cinnabar/formats/safetensors_writer.h"
#include "cinnabar/jobs/command_schemas.h"
#include "cinnabar/models/model_family.h"
#include "cinnabar/schema/resolve.h"
#include "cinnabar/tensor/convert.h"
#include "cinnabar/tensor/memory_error.h"
#include "cinnabar/train/trainer.h"

namespace cinnabar::soak {

namespace {

namespace fs = std::filesystem;

class HookedEvents : public base::EventSink {
 public:
  HookedEvents(EngineRun& run, std::atomic<bool>& stop, const EventHook& hook) : run_(run), stop_(stop), hook_(hook) {}

 protected:
  void write(const std::string& line) noexcept override {
    const auto event = nlohmann::json::parse(line, nullptr, false);
    const std::string type = event.value("type", "");
    if (type == "log" || type == "warning") run_.messages.push_back(event.value("text", ""));
    if (type == "phase") run_.phases.push_back(event.value("text", ""));
    if (type == "progress" && event.value("phase", "") == "train") {
      run_.losses[event.value("step", int64_t{0})] =
          event.at("loss").is_number() ? event.at("loss").get<double>() : 0.0;
    }
    hook_(event, stop_);
  }

 private:
  EngineRun& run_;
  std::atomic<bool>& stop_;
  const EventHook& hook_;
};

void write_model(const fs::path& path) {
  const auto model = models::model_families().at("sd1").create({.size = "tiny", .seed = 1});
  std::vector<at::Tensor> kept;
  std::vector<formats::NamedTensor> tensors;
  for (const auto& [name, value] : models::file_tensors(*model)) {
    kept.push_back(value.detach().to(at::kCPU).contiguous());
    tensors.push_back({name, tensor::view_of(kept.back())});
  }
  const std::string side = std::to_string(model->info().native_side_px);
  formats::write_safetensors(path, std::move(tensors), {{"modelspec.resolution", side + "x" + side}});
}

}  // namespace

EngineFolder::EngineFolder() {
  std::string name = (fs::temp_directory_path() / "cinnabar-soak-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
  copy_pictures(path_);
  write_model(path_ / "tiny.safetensors");
}

EngineFolder::~EngineFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Words EngineFolder::words(int64_t steps, const Words& more) const {
  Words words{"--pretrained_model_name_or_path",
              (path_ / "tiny.safetensors").string(),
              "--train_data_dir",
              (path_ / "data").string(),
              "--output_dir",
              (path_ / "out").string(),
              "--output_name",
              "run",
              "--resolution",
              "64",
              "--seed",
              "3",
              "--network_module",
              "networks.lora",
              "--network_dim",
              "2",
              "--max_data_loader_n_workers",
              "0",
              "--save_state_on_train_end",
              "--device",
              "cpu",
              "--max_train_steps",
              std::to_string(steps)};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void EngineFolder::clear() const { fs::remove_all(path_ / "out"); }

EngineRun run_engine(const Words& words, int64_t stop_at, void (*armed)()) {
  return run_engine_beside(words, [&](const nlohmann::json& event, std::atomic<bool>& stop) {
    const std::string type = event.value("type", "");
    if (type == "phase" && event.value("text", "") == "Training" && armed != nullptr) armed();
    if (type == "progress" && event.value("phase", "") == "train" && event.value("step", int64_t{0}) == stop_at)
      stop = true;
  });
}

EngineRun run_engine_beside(const Words& words, const EventHook& hook) {
  EngineRun run;
  std::atomic<bool> stop{false};
  HookedEvents events(run, stop, hook);
  try {
    const schema::Config config = schema::read_config(jobs::train_schema(), "train", words);
    train::run(config.values, events, stop);
  } catch (const base::Error& error) {
    run.error = error;
  } catch (const std::exception& error) {
    const bool is_memory = tensor::is_out_of_memory(error);
    run.error = base::Error(is_memory ? base::ErrorCode::OutOfMemory : base::ErrorCode::Internal, error.what());
  }
  return run;
}

std::vector<Words> engine_combinations() {
  std::vector<Words> all{
      {"--optimizer_type", "AdamW", "--learning_rate", "1e-3", "--ema", "--network_dropout", "0.2"},
      {"--optimizer_type", "AdamW8bit", "--learning_rate", "1e-3", "--network_args", "rank_dropout=0.2"},
      {"--optimizer_type", "AdamW", "--learning_rate", "1e-3", "--mixed_precision", "fp16", "--shuffle_caption"},
      {"--optimizer_type", "AdamW", "--learning_rate", "1e-3", "--mixed_precision", "bf16", "--full_bf16"},
      {"--optimizer_type", "Lion", "--learning_rate", "1e-4", "--mixed_precision", "bf16", "--network_args",
       "module_dropout=0.2"},
      {"--optimizer_type", "SGDNesterov", "--learning_rate", "1e-2", "--network_args", "conv_dim=2", "conv_alpha=1"},
      {"--optimizer_type", "Prodigy", "--learning_rate", "1", "--network_train_unet_only", "--cache_latents"},
      {"--optimizer_type", "AdaFactor", "--learning_rate", "1e-3", "--optimizer_args", "relative_step=False",
       "--scale_weight_norms", "0.5"},
      {"--optimizer_type", "AdaFactor", "--lr_scheduler", "adafactor"},
      {"--optimizer_type", "AdamWScheduleFree", "--learning_rate", "1e-3", "--mixed_precision", "bf16", "--ema"},
      {"--optimizer_type", "DAdaptAdam", "--learning_rate", "1", "--gradient_accumulation_steps", "2"},
      {"--optimizer_type", "CAME", "--learning_rate", "1e-3", "--validation_split", "0.4", "--validate_every_n_steps",
       "5", "--max_validation_steps", "1", "--lr_scheduler", "cosine"},
  };
  // Kinds of adapters beyond LoRA, each in another precision than the one before.
  const std::vector<Words> precisions{{}, {"--mixed_precision", "bf16"}, {"--mixed_precision", "fp16"}};
  size_t next = 0;
  for (const std::string& kind : adapters::adapter_descriptions().names()) {
    if (kind == "lora" || kind == "networks.lora") continue;
    all.push_back({"--network_module", kind, "--optimizer_type", "AdamW", "--learning_rate", "1e-3"});
    const Words& precision = precisions[next++ % precisions.size()];
    all.back().insert(all.back().end(), precision.begin(), precision.end());
  }
  return all;
}

}  // namespace cinnabar::soak
