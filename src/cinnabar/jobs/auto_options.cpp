#include "cinnabar/jobs/auto_options.h"

#include <algorithm>
#include <set>

#include "cinnabar/hardware/advice.h"
#include "cinnabar/hardware/detect.h"
#include "cinnabar/hardware/libtorch_build.h"
#include "cinnabar/hardware/system_sources.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::jobs {

namespace {

// Options that are one decision: a batch of the user's own is not accumulated by the advice for another one.
const std::set<std::string> kBatchOptions = {"train_batch_size", "gradient_accumulation_steps"};

class Auto {
 public:
  Auto(const schema::Schema& schema, schema::Config& config) : schema_(schema), config_(config) {}

  void take(const hardware::AdvisedOption& advice) {
    const schema::Option* option = schema_.find(advice.name);
    const std::string wish = advice.name + " = " + advice.value;
    if (config_.origins.contains(advice.name)) {
      return say(advice.name + " stays " + schema::value_text(config_.values.raw(advice.name)) +
                 ", as given (the advice is " + advice.value + ": " + advice.reason + ")");
    }
    if (kBatchOptions.contains(advice.name) &&
        std::ranges::any_of(kBatchOptions, [&](const std::string& name) { return config_.origins.contains(name); })) {
      return say(wish + " is not taken, since the batch was given (" + advice.reason + ")");
    }
    if (option == nullptr) return say(wish + " is left out: this build has no such option (" + advice.reason + ")");
    const base::Result<schema::Value> value = schema::parse_value(*option, advice.value);
    if (!value || !schema::check_value(*option, value.value()).empty())
      return say(wish + " is left out: the option has no such value (" + advice.reason + ")");
    const schema::Value before = config_.values.raw(advice.name);
    const size_t problems = problem_count();
    config_.values.set(advice.name, value.value());
    if (problem_count() > problems) {
      config_.values.set(advice.name, before);
      return say(wish + " is left out: it does not go with what was given (" + advice.reason + ")");
    }
    say(wish + " (" + advice.reason + ")");
  }

  std::vector<std::string> take_sentences() { return std::move(sentences_); }

 private:
  void say(const std::string& text) { sentences_.push_back("auto: " + text + "."); }

  // Of the rules between options.
  size_t problem_count() const {
    schema::Problems problems;
    std::map<std::string, schema::Given> given;
    for (const auto& [name, where] : config_.origins) given[name] = {config_.values.raw(name), where, ""};
    schema::cross_check(config_, given, problems);
    return problems.list().size();
  }

  const schema::Schema& schema_;
  schema::Config& config_;
  std::vector<std::string> sentences_;
};

}  // namespace

std::vector<std::string> apply_auto(const schema::Schema& schema, const hardware::Machine& machine,
                                    schema::Config& config) {
  if (!config.values.flag("auto")) return {};
  Auto taker(schema, config);
  hardware::AdviceContext context;
  if (config.origins.contains("mixed_precision")) context.precision = config.values.maybe_text("mixed_precision");
  if (config.values.has("resolution")) {
    const auto [width, height] = config.values.size("resolution");
    context.side_px = std::max(width, height);
  }
  hardware::Machine used = machine;
  if (config.values.maybe_text("device").value_or("auto") == "cpu") used.default_gpu.reset();
  for (const hardware::AdvisedOption& advice : hardware::advised_options(used, context)) taker.take(advice);
  return taker.take_sentences();
}

hardware::Machine machine_with(const std::filesystem::path& torch) {
  return hardware::detect(hardware::system_sources(hardware::read_libtorch(torch), true));
}

}  // namespace cinnabar::jobs
