#include "cinnabar/train/run_summary.h"

#include <doctest/doctest.h>

#include "cinnabar/base/error.h"
#include "cinnabar/base/events.h"
#include "cinnabar/train/resume.h"
#include "cinnabar/train/training_log.h"

namespace cinnabar::train {

namespace {

schema::Values values_of(const std::string& schedule, schema::Value warmup) {
  schema::Values values;
  values.set("pretrained_model_name_or_path", std::string("model.safetensors"));
  values.set("network_module", std::string("networks.lora"));
  values.set("network_dim", int64_t{16});
  values.set("network_alpha", 8.0);
  values.set("network_args", std::vector<std::string>{"conv_dim=4"});
  values.set("mixed_precision", std::string("bf16"));
  values.set("lr_scheduler", schedule);
  values.set("lr_warmup_steps", std::move(warmup));
  return values;
}

TEST_CASE("a_run_says_what_it_is_about_to_do") {
  const schema::Values values = values_of("cosine", 0.1);
  SummaryFacts facts{.values = values,
                     .family = "sdxl",
                     .prediction = "v",
                     .device = "cuda:0",
                     .optimizer = "AdamW8bit",
                     .layers = 12,
                     .parameters = 345,
                     .rates = {{"unet", 1e-4}, {"textencoder", 5e-5}},
                     .steps = 200};
  const std::vector<std::string> lines = summary_lines(facts);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == "Model: model.safetensors, family sdxl, predicts v; bf16 on cuda:0.");
  CHECK(lines[1] == "Network: networks.lora, rank 16, alpha 8, conv_dim=4; 12 layers, 345 parameters.");
  CHECK(lines[2] ==
        "Optimizer: AdamW8bit, learning rate 0.0001 (unet), 5e-05 (textencoder); schedule cosine with 20 steps of "
        "warm-up.");
  facts.rates = {{"unet", 1e-4}, {"textencoder", 1e-4}};
  CHECK(summary_lines(facts)[2].find("learning rate 0.0001; schedule") != std::string::npos);
}

TEST_CASE("a_warm_up_that_the_run_does_not_outlive_is_told") {
  CHECK(warmup_warning(values_of("cosine", int64_t{500}), 20).find("at 4 % of the learning rate") != std::string::npos);
  CHECK(warmup_warning(values_of("cosine", int64_t{20}), 20).find("ends within the warm-up") != std::string::npos);
  CHECK(warmup_warning(values_of("cosine", int64_t{19}), 20).empty());
  CHECK(warmup_warning(values_of("cosine", 0.5), 20).empty());
  CHECK(warmup_warning(values_of("adafactor", int64_t{500}), 20).empty());
}

TEST_CASE("a_state_beyond_the_end_of_the_run_is_refused") {
  SavedState state{.folder = "out/cc-state"};
  state.position.step = 160;
  schema::Values values;
  values.set("output_dir", std::string("no/such/folder"));
  CHECK_NOTHROW(check_steps_left(state, 160, values));
  CHECK_THROWS_WITH_AS(check_steps_left(state, 70, values),
                       doctest::Contains("out/cc-state is at step 160, and the run would end at step 70"), base::Error);
}

TEST_CASE("a_state_that_does_not_fit_names_what_changed") {
  SavedState state{.folder = "out/cc-state"};
  state.identity.options = {{"network_dim", "8"}, {"seed", "1"}};
  RunIdentity now;
  now.options = {{"network_dim", "16"}, {"seed", "2"}};
  const std::string text = changes_text(state, now);
  CHECK(text.find("network_dim went from 8 to 16:") != std::string::npos);
  CHECK(text.find("seed") == std::string::npos);
  now.options = state.identity.options;
  CHECK(changes_text(state, now).empty());
}

TEST_CASE("the_rate_of_optimizers_that_find_it_is_what_the_parameters_saw") {
  base::RecordedEvents events;
  TrainingLog log({}, {.total_steps = 5, .epochs = 1, .steps_per_epoch = 5}, events);
  log.step({.step = 1, .epoch = 1, .loss = 0.5, .rates = {{"unet", 1.0}}, .more = {{"lr/d*lr/unet", 3e-5}}});
  log.step({.step = 2, .epoch = 1, .loss = 0.5, .rates = {{"unet", 1e-4}}});
  REQUIRE(events.lines().size() == 2);
  CHECK(events.lines()[0].find("\"learning_rate\":3e-05") != std::string::npos);
  CHECK(events.lines()[1].find("\"learning_rate\":0.0001") != std::string::npos);
}

}  // namespace

}  // namespace cinnabar::train
