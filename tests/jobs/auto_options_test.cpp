#include "cinnabar/jobs/auto_options.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "cinnabar/hardware/advice.h"
#include "cinnabar/hardware/detect.h"
#include "cinnabar/hardware/recording.h"
#include "cinnabar/jobs/command_schemas.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::jobs {

namespace {

hardware::Machine machine_of(const std::string& name) {
  return hardware::detect(
      hardware::load_recording(std::filesystem::path(CINNABAR_TESTS_DIR) / "hardware" / "fixtures" / name));
}

struct AutoOutcome {
  schema::Config config;
  std::vector<std::string> told;

  std::string value(const std::string& name) const { return schema::value_text(config.values.raw(name)); }
  bool tells(const std::string& part) const {
    return std::ranges::any_of(told, [&](const std::string& text) { return text.find(part) != std::string::npos; });
  }
};

AutoOutcome with_auto(const hardware::Machine& machine, std::vector<std::string> words) {
  const schema::Schema schema = train_schema();
  for (const char* word : {"--auto", "--pretrained_model_name_or_path", "embedded", "--train_data_dir", "embedded"})
    words.emplace_back(word);
  AutoOutcome outcome{.config = schema::read_config(schema, "train", words)};
  outcome.told = apply_auto(schema, machine, outcome.config);
  return outcome;
}

TEST_CASE("auto takes the advice for every recorded machine and tells each value") {
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(CINNABAR_TESTS_DIR) / "hardware" / "fixtures")) {
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    const hardware::Machine machine = machine_of(name);
    const AutoOutcome outcome = with_auto(machine, {});
    const auto advice = hardware::advised_options(machine, {.side_px = 512});
    CHECK(outcome.told.size() == advice.size());
    for (const hardware::AdvisedOption& option : advice) {
      CAPTURE(option.name);
      CHECK(outcome.tells(option.name + " = " + option.value));
      if (!outcome.tells(option.name + " = " + option.value + " is left out"))
        CHECK(outcome.value(option.name) == option.value);
    }
  }
}

TEST_CASE("the presets that are promised by name of card") {
  struct Row {
    const char* machine;
    const char* batch;
    const char* accumulation;
    const char* precision;
  };
  for (const Row& row : {Row{"rx7600-rocm641", "2", "4", "fp16"}, Row{"rx7800xt-igpu-first", "4", "2", "fp16"},
                         Row{"rx7900xtx-igpu1036", "8", "1", "bf16"}, Row{"mi250-2gcd", "16", "1", "bf16"},
                         Row{"no-gpu", "1", "1", "no"}}) {
    CAPTURE(row.machine);
    const AutoOutcome outcome = with_auto(machine_of(row.machine), {});
    CHECK(outcome.value("train_batch_size") == row.batch);
    const std::string accumulation = outcome.value("gradient_accumulation_steps");
    CHECK((accumulation.empty() ? "1" : accumulation) == row.accumulation);
    CHECK(outcome.value("mixed_precision") == row.precision);
  }
}

TEST_CASE("fp8 without fp8 arithmetic is storage with computation in bf16, and this is told") {
  const AutoOutcome outcome = with_auto(machine_of("mi250-2gcd"), {});
  CHECK(outcome.value("mixed_precision") == "bf16");
  CHECK(outcome.tells("the preset's fp8 is storage on this chip: it computes in bf16"));
  CHECK(outcome.tells("fp8_base = true"));
  CHECK(outcome.tells("this chip has no fp8 arithmetic"));
}

TEST_CASE("a given option wins over the advice, from the command line or a file") {
  const AutoOutcome outcome = with_auto(machine_of("rx7600-rocm641"), {"--mixed_precision", "bf16"});
  CHECK(outcome.value("mixed_precision") == "bf16");
  CHECK(outcome.tells("mixed_precision stays bf16, as given (the advice is fp16"));
  CHECK(outcome.value("train_batch_size") == "2");
  // Advice for fp16 alone.
  CHECK_FALSE(outcome.tells("no_half_vae"));
  CHECK(with_auto(machine_of("rx7600-rocm641"), {}).value("no_half_vae") == "true");
}

TEST_CASE("batch and accumulation are one decision") {
  const AutoOutcome outcome = with_auto(machine_of("rx7600-rocm641"), {"--train_batch_size", "8"});
  CHECK(outcome.value("train_batch_size") == "8");
  CHECK(outcome.tells("gradient_accumulation_steps = 4 is not taken, since the batch was given"));
  CHECK(outcome.value("gradient_accumulation_steps") != "4");
}

TEST_CASE("advice that does not go with the given options is left out") {
  const AutoOutcome outcome = with_auto(machine_of("rx7600-rocm641"), {"--color_aug"});
  CHECK(outcome.value("cache_latents") != "true");
  CHECK(outcome.tells("cache_latents = true is left out"));
}

TEST_CASE("a batch is halved above 512 px where attention is not fused") {
  CHECK(with_auto(machine_of("rx6800xt-sysfs-only"), {"--resolution", "512"}).value("train_batch_size") == "4");
  const AutoOutcome wide = with_auto(machine_of("rx6800xt-sysfs-only"), {"--resolution", "1024,768"});
  CHECK(wide.value("train_batch_size") == "2");
  CHECK(wide.tells("halved above 512 px"));
}

TEST_CASE("on the processor the advice for a card does not count") {
  const AutoOutcome outcome = with_auto(machine_of("rx7900xtx-igpu1036"), {"--device", "cpu"});
  CHECK(outcome.value("mixed_precision") == "no");
  CHECK(outcome.value("train_batch_size") == "1");
}

TEST_CASE("without auto nothing changes") {
  const schema::Schema schema = train_schema();
  schema::Config config = schema::read_config(
      schema, "train", {"--pretrained_model_name_or_path", "embedded", "--train_data_dir", "embedded"});
  CHECK(apply_auto(schema, machine_of("mi250-2gcd"), config).empty());
  CHECK_FALSE(config.origins.contains("train_batch_size"));
}

}  // namespace

}  // namespace cinnabar::jobs
