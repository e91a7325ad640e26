#include "cinnabar/train/text_states.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "cinnabar/base/error.h"
#include "cinnabar/train/family_checks.h"

namespace cinnabar::train {

namespace {

// Text states that say how long the captions are, and a pooled state; counts its calls.
class CountingModel : public models::DiffusionModel {
 public:
  const models::ModelInfo& info() const override { return info_; }
  models::Tokens tokenize(const std::vector<std::string>& captions, const models::TextOptions& options) const override {
    std::vector<int64_t> lengths;
    for (const std::string& caption : captions) lengths.push_back(static_cast<int64_t>(caption.size()));
    weighted = options.is_weighted;
    return {.ids = {at::tensor(lengths, at::kLong)}};
  }
  models::Conditioning encode_text(const models::Tokens& tokens, const models::TextOptions&) override {
    ++calls;
    const at::Tensor lengths = tokens.ids[0].to(at::kFloat);
    return {.context = lengths.view({-1, 1, 1}).repeat({1, 3, 2}), .pooled = lengths.view({-1, 1}) + 0.5};
  }
  at::Tensor encode_moments(const at::Tensor& pixels) override { return pixels; }
  at::Tensor decode(const at::Tensor& latents) override { return latents; }
  at::Tensor predict(const at::Tensor& noisy, const at::Tensor&, const models::Conditioning&) override { return noisy; }
  std::vector<models::ModelPart> parts() override { return {}; }
  std::vector<models::AdapterTarget> adapter_targets() override { return {}; }
  void release(const std::string&) override {}
  nn::Module& vae() override { throw base::Error(base::ErrorCode::Internal, "no autoencoder"); }
  std::optional<models::ModelPart> vae_part() override { return std::nullopt; }

  int calls = 0;
  mutable bool weighted = false;

 private:
  models::ModelInfo info_;
};

class Lines : public base::EventSink {
 public:
  std::string text;

 protected:
  void write(const std::string& line) noexcept override { text += line + "\n"; }
};

bool says(const Lines& lines, const std::string& part) { return lines.text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("pooled states are kept beside the contexts, and a caption is encoded once") {
  CountingModel model;
  TextStates states(model, {});
  const models::Conditioning first = states.of({"a fox", "a cat there"});
  CHECK(model.calls == 1);
  CHECK(at::equal(first.pooled, at::tensor({5.5F, 11.5F}).view({2, 1})));
  const models::Conditioning second = states.of({"a cat there", "a fox", "a fox"});
  CHECK(model.calls == 1);
  CHECK(at::equal(second.pooled, at::tensor({11.5F, 5.5F, 5.5F}).view({3, 1})));
  CHECK(second.context.sizes() == at::IntArrayRef({3, 3, 2}));
  CHECK_FALSE(second.mask.defined());
  CHECK_FALSE(model.weighted);
}

TEST_CASE("weighted captions reach the tokenizer") {
  CountingModel model;
  TextStates states(model, {.text = {.is_weighted = true}});
  states.of({"a (red:1.2) fox"});
  CHECK(model.weighted);
}

TEST_CASE("options that say something else than the model are named") {
  schema::Values values;
  values.set("v2", true);
  values.set("clip_skip", int64_t{2});
  models::ModelInfo info;
  info.family = "sdxl";
  info.bucket_step_px = 32;
  Lines lines;
  check_family_options(values, info, lines);
  CHECK(says(lines, "v2 is set, but the model is of the family sdxl"));
  CHECK(says(lines, "clip_skip has no effect"));
  info.family = "sd2";
  Lines quiet;
  check_family_options(values, info, quiet);
  CHECK(quiet.text.empty());

  data::Dataset dataset;
  dataset.options.bucket.enable_bucket = true;
  dataset.options.bucket.bucket_reso_steps = 16;
  check_bucket_steps({dataset, dataset}, info, lines);
  CHECK(says(lines, "bucket_reso_steps = 16 is no multiple of 32"));
  dataset.options.bucket.bucket_reso_steps = 32;
  check_bucket_steps({dataset}, info, quiet);
  // A model of small pictures has no use for the rule.
  info.native_side_px = 64;
  dataset.options.bucket.bucket_reso_steps = 16;
  check_bucket_steps({dataset}, info, quiet);
  CHECK(quiet.text.empty());
}

}  // namespace cinnabar::train
