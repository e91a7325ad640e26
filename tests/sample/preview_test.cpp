#include "cinnabar/sample/preview.h"

#include <doctest/doctest.h>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <limits>
#include <new>
#include <nlohmann/json.hpp>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/data/png_writer.h"
#include "sample/tiny_model.h"

namespace {

using namespace cinnabar;
using namespace cinnabar::sample;

constexpr PreviewPoint kStart{.is_start = true};

PreviewPoint after_step(int64_t step) { return {.step = step, .epoch = 1}; }
PreviewPoint after_epoch(int64_t epoch) { return {.step = epoch * 10, .epoch = epoch, .is_epoch_end = true}; }

struct Fixture {
  TemporaryFolder folder;
  schema::Values values;
  base::RecordedEvents events;

  explicit Fixture(const std::string& prompts) {
    base::write_file(folder.path / "prompts.txt", prompts);
    values.set("sample_prompts", (folder.path / "prompts.txt").string());
    values.set("output_dir", folder.path.string());
    values.set("output_name", std::string("fox"));
    values.set("seed", int64_t{3});
  }
  Previews previews() { return {values, tiny_model().info(), {}, events}; }

  std::vector<nlohmann::json> events_of(const std::string& type) const {
    std::vector<nlohmann::json> found;
    for (const std::string& line : events.lines()) {
      const auto event = nlohmann::json::parse(line);
      if (event.at("type") == type) found.push_back(event);
    }
    return found;
  }
};

// Has no memory left.
class ExhaustedModel : public models::DiffusionModel {
 public:
  const models::ModelInfo& info() const override { return tiny_model().info(); }
  models::Tokens tokenize(const std::vector<std::string>& captions, const models::TextOptions& options) const override {
    return tiny_model().tokenize(captions, options);
  }
  models::Conditioning encode_text(const models::Tokens& tokens, const models::TextOptions& options) override {
    return tiny_model().encode_text(tokens, options);
  }
  at::Tensor encode_moments(const at::Tensor& pixels) override { return pixels; }
  at::Tensor decode(const at::Tensor& latents) override { return latents; }
  at::Tensor predict(const at::Tensor&, const at::Tensor&, const models::Conditioning&) override {
    if (++calls_ % 2 == 1) throw std::bad_alloc();
    TORCH_CHECK(false, "not enough memory");
  }
  std::vector<models::ModelPart> parts() override { return tiny_model().parts(); }
  std::vector<models::AdapterTarget> adapter_targets() override { return {}; }
  void release(const std::string&) override {}
  nn::Module& vae() override { return tiny_model().vae(); }
  std::optional<models::ModelPart> vae_part() override { return std::nullopt; }

 private:
  int calls_ = 0;
};

}  // namespace

TEST_CASE("pictures_are_due_after_every_nth_step") {
  Fixture fixture("a fox\n");
  fixture.values.set("sample_every_n_steps", int64_t{5});
  const Previews previews = fixture.previews();
  CHECK(previews.is_on());
  CHECK_FALSE(previews.due(kStart));
  CHECK_FALSE(previews.due(after_step(4)));
  CHECK(previews.due(after_step(5)));
  CHECK_FALSE(previews.due(after_epoch(1)));
}

TEST_CASE("epochs_count_over_steps_and_the_start_is_asked_for_by_itself") {
  Fixture fixture("a fox\n");
  fixture.values.set("sample_every_n_steps", int64_t{5});
  fixture.values.set("sample_every_n_epochs", int64_t{2});
  fixture.values.set("sample_at_first", true);
  const Previews previews = fixture.previews();
  CHECK(previews.due(kStart));
  CHECK_FALSE(previews.due(after_step(5)));
  CHECK_FALSE(previews.due(after_epoch(1)));
  CHECK(previews.due(after_epoch(2)));
}

TEST_CASE("without_prompts_nothing_is_due_and_the_reason_is_told") {
  Fixture fixture("# none\n");
  fixture.values.set("sample_every_n_steps", int64_t{1});
  const Previews previews = fixture.previews();
  CHECK_FALSE(previews.is_on());
  CHECK_FALSE(previews.due(after_step(1)));
  CHECK(fixture.events_of("warning").size() == 1);
}

TEST_CASE("a_missing_prompt_file_is_a_warning") {
  Fixture fixture("a fox\n");
  fixture.values.set("sample_prompts", std::string("nowhere.txt"));
  CHECK_FALSE(fixture.previews().is_on());
  CHECK(fixture.events_of("warning").size() >= 1);
}

TEST_CASE("names_are_those_of_the_reference") {
  Fixture fixture("a fox --d 42\na cat\n");
  const Previews previews = fixture.previews();
  const std::filesystem::path folder = fixture.folder.path / "sample";
  CHECK(previews.path_of(after_epoch(3), 0, "20260131093000") == folder / "fox_e000003_00_20260131093000_42.png");
  CHECK(previews.path_of(after_step(250), 1, "20260131093000") == folder / "fox_000250_01_20260131093000.png");
  CHECK(previews.path_of(kStart, 1, "20260131093000") == folder / "fox_e000000_01_20260131093000.png");
  fixture.values.set("output_name", std::string("last"));  // the option's default
  CHECK(fixture.previews().path_of(kStart, 1, "2026").filename() == "e000000_01_2026.png");
}

TEST_CASE("pictures_are_written_with_their_text_and_told") {
  Fixture fixture("a fox --s 1 --d 42\na cat --s 1 --ss euler\n");
  const std::atomic<bool> stop{false};
  Previews previews = fixture.previews();
  previews.run(tiny_model(), after_step(5), fixture.events, stop);
  const auto samples = fixture.events_of("sample");
  REQUIRE(samples.size() == 2);
  CHECK(samples[0].at("seed") == 42);
  CHECK(samples[1].at("seed") == 4);  // the run's seed, one more for each prompt
  const std::string text = data::read_png_texts(samples[1].at("path").get<std::string>()).at("parameters");
  CHECK(text.starts_with("a cat\nSteps: 1, Sampler: Euler, CFG scale: 7.5, Seed: 4, Size: 64x64"));
}

TEST_CASE("a_failing_prompt_is_a_warning_and_the_next_one_is_made") {
  Fixture fixture("a (fox:1.2.3) --s 1\na cat --s 1\n");
  const std::atomic<bool> stop{false};
  Previews previews = fixture.previews();
  previews.run(tiny_model(), after_step(5), fixture.events, stop);
  CHECK(fixture.events_of("warning").size() == 1);
  CHECK(fixture.events_of("sample").size() == 1);
}

TEST_CASE("mistakes_of_a_prompt_file_are_told_at_the_start_with_their_line") {
  Fixture fixture("# previews\n\ncat --w 511\n--s 3\ncat --zz 3\n");
  fixture.values.set("sample_every_n_steps", int64_t{1});
  const Previews previews = fixture.previews();
  CHECK(previews.is_on());
  const auto warnings = fixture.events_of("warning");
  REQUIRE(warnings.size() == 3);
  const char* places[] = {"prompts.txt:3: ", "prompts.txt:4: ", "prompts.txt:5: "};
  for (size_t i = 0; i < 3; ++i) CHECK(warnings[i].at("text").get<std::string>().starts_with(places[i]));
}

TEST_CASE("options_that_a_sampler_does_not_know_are_told_at_the_start") {
  Fixture fixture("a cat --ss ddim\na cat --ss euler\n");
  fixture.values.set("karras_sigmas", true);
  fixture.previews();
  const auto warnings = fixture.events_of("warning");
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].at("text") == "karras_sigmas: has no effect with the sampler ddim");
}

TEST_CASE("pictures_that_are_no_numbers_are_warnings") {
  const auto model = new_tiny_model();
  model->parts().back().module->each_parameter("", [](const std::string&, at::Tensor& value) {
    const at::NoGradGuard no_grad;
    value.fill_(std::numeric_limits<double>::quiet_NaN());
  });
  Fixture fixture("a fox --s 1\na cat --s 1 --ss heun\n");
  const std::atomic<bool> stop{false};
  Previews previews = fixture.previews();
  previews.run(*model, after_step(5), fixture.events, stop);
  const auto warnings = fixture.events_of("warning");
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0].at("text").get<std::string>().find("(\"a fox\") failed: the latents") != std::string::npos);
  CHECK(fixture.events_of("sample").empty());
}

TEST_CASE("pictures_for_which_memory_does_not_suffice_are_warnings") {
  ExhaustedModel model;
  Fixture fixture("a fox --s 1\na cat --s 1\n");
  const std::atomic<bool> stop{false};
  Previews previews = fixture.previews();
  previews.run(model, after_step(5), fixture.events, stop);
  CHECK(fixture.events_of("warning").size() == 2);
  CHECK(fixture.events_of("sample").empty());
}

TEST_CASE("a_stop_ends_the_pictures_at_once") {
  Fixture fixture("a fox --s 1\n");
  const std::atomic<bool> stop{true};
  Previews previews = fixture.previews();
  previews.run(tiny_model(), after_step(5), fixture.events, stop);
  CHECK(fixture.events_of("sample").empty());
  CHECK(fixture.events_of("warning").empty());
}
