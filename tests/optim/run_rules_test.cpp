#include <doctest/doctest.h>

#include <algorithm>

#include "cinnabar/optim/run_rules.h"

namespace cinnabar::optim {

namespace {

struct Run {
  explicit Run(const std::string& type, std::vector<std::string> arguments = {}) {
    if (!type.empty()) values.set("optimizer_type", type);
    if (!arguments.empty()) values.set("optimizer_args", arguments);
    values.set("learning_rate", 4e-4);
    values.set("lr_scheduler", std::string("cosine"));
  }
  void apply(std::vector<double> rates = {4e-4, 4e-4}) {
    RunRules rules{.values = values};
    rules.rates = std::move(rates);
    apply_rules(rules);
    is_schedule_constant = rules.is_schedule_constant;
    for (const std::string& notice : rules.notices) notices += notice + "\n";
  }

  schema::Values values;
  std::string notices;
  bool is_schedule_constant = false;
};

}  // namespace

TEST_CASE("old spellings name the optimizer") {
  for (const char* type : {"", "AdamW"}) {  // AdamW stands there when nothing was given
    Run run(type);
    run.values.set("use_8bit_adam", true);
    run.apply();
    CHECK(run.values.text("optimizer_type") == "AdamW8bit");
  }
  Run lion("");
  lion.values.set("use_lion_optimizer", true);
  lion.apply();
  CHECK(lion.values.text("optimizer_type") == "Lion");
  Run other("Prodigy");
  other.values.set("use_8bit_adam", true);
  CHECK_THROWS_WITH_AS(other.apply(), doctest::Contains("leave one out"), base::Error);
  lion.values.set("use_8bit_adam", true);
  CHECK_THROWS_AS(lion.apply(), base::Error);
}

TEST_CASE("Adafactor with its own rates drops those of the run and names its schedule") {
  Run run("adafactor", {"scale_parameter=False"});
  run.values.set("unet_lr", 1e-4);
  run.apply();
  CHECK(
      (run.values.texts("optimizer_args") == std::vector<std::string>{"scale_parameter=False", "relative_step=True"}));
  CHECK(run.values.text("lr_scheduler") == "adafactor:0.0004");
  CHECK_FALSE(run.values.has("learning_rate"));
  CHECK_FALSE(run.values.has("unet_lr"));
  CHECK(run.is_schedule_constant);
  CHECK(run.notices.find("are not used") != std::string::npos);
  Run slow("Adafactor", {"warmup_init=True", "relative_step=False"});
  slow.apply();
  CHECK((slow.values.texts("optimizer_args") == std::vector<std::string>{"warmup_init=True", "relative_step=True"}));
  Run warm("Adafactor");
  warm.values.set("lr_warmup_steps", int64_t{10});
  CHECK_THROWS_WITH_AS(warm.apply(), doctest::Contains("lr_warmup_steps"), base::Error);
}

TEST_CASE("Adafactor with given rates keeps them and the schedule") {
  Run run("Adafactor", {"relative_step=False"});
  run.apply();
  CHECK(run.values.number("learning_rate") == 4e-4);
  CHECK(run.values.text("lr_scheduler") == "cosine");
  CHECK_FALSE(run.is_schedule_constant);
  CHECK(run.notices.find("constant_with_warmup") != std::string::npos);
  run.values.set("lr_scheduler", std::string("adafactor"));
  CHECK_THROWS_WITH_AS(run.apply(), doctest::Contains("relative_step=True"), base::Error);
}

TEST_CASE("the schedule adafactor is for Adafactor") {
  Run run("AdamW");
  run.values.set("lr_scheduler", std::string("adafactor"));
  CHECK_THROWS_WITH_AS(run.apply(), doctest::Contains("Adafactor"), base::Error);
}

TEST_CASE("optimizers that find the step size want one rate near 1") {
  Run low("Prodigy");
  low.apply();
  CHECK(low.notices.find("1.0 is usual") != std::string::npos);
  Run usual("DAdaptation");
  usual.apply({1.0, 0.0, 1.0});
  CHECK(usual.notices.empty());
  Run mixed("Prodigy");
  CHECK_THROWS_WITH_AS(mixed.apply({1.0, 0.5}), doctest::Contains("found 1.0, 0.5"), base::Error);
}

TEST_CASE("schedule-free optimizers take no schedule and say so") {
  Run run("AdamWScheduleFree");
  run.apply();
  CHECK(run.is_schedule_constant);
  CHECK(run.notices.find("needs no schedule") != std::string::npos);
  Run silent("SGDScheduleFree");
  silent.values.set("lr_scheduler", std::string("constant"));
  silent.apply();
  CHECK(silent.notices.empty());
}

TEST_CASE("momentum, paging and stepping while going back are reported") {
  Run sgd("SGDNesterov");
  sgd.apply();
  CHECK((sgd.values.texts("optimizer_args") == std::vector<std::string>{"momentum=0.9"}));
  Run given("SGDNesterov8bit", {"momentum=0.5"});
  given.apply();
  CHECK((given.values.texts("optimizer_args") == std::vector<std::string>{"momentum=0.5"}));
  CHECK(given.notices.empty());
  Run paged("PagedAdamW8bit");
  paged.apply();
  CHECK(paged.notices.find("nothing is paged") != std::string::npos);
  Run fused("Adafactor");
  fused.values.set("fused_backward_pass", true);
  fused.apply();
  CHECK(fused.notices.find("fused_backward_pass") != std::string::npos);
  Run wrong("AdamW");
  wrong.values.set("fused_backward_pass", true);
  CHECK_THROWS_WITH_AS(wrong.apply(), doctest::Contains("Adafactor only"), base::Error);
  Run gathered("Adafactor");
  gathered.values.set("fused_backward_pass", true);
  gathered.values.set("gradient_accumulation_steps", int64_t{2});
  CHECK_THROWS_WITH_AS(gathered.apply(), doctest::Contains("gradient_accumulation_steps 1"), base::Error);
}

}  // namespace cinnabar::optim
