// Caption processing against sd-scripts' process_caption (data/captions.json).
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/data/caption.h"
#include "parity/reporter.h"

namespace cinnabar::parity {
namespace {

using Json = nlohmann::ordered_json;  // replacements apply in file order

// Takes the same index at every choice; shuffling keeps the order, which the goldens leave open.
class FixedRandom : public data::CaptionRandom {
 public:
  explicit FixedRandom(size_t index) : index_(index) {}
  double uniform() override { return 0.5; }
  size_t choice(size_t count) override { return index_ % count; }
  void shuffle(std::span<std::string>) override {}

 private:
  size_t index_;
};

data::CaptionOptions options_of(const Json& subset) {
  data::CaptionOptions options;
  // The reference joins tags by comma and space, whatever separated them.
  options.caption_joiner = ", ";
  size_t known = 0;
  const auto read = [&](const char* name, auto& value) {
    if (!subset.contains(name)) return;
    subset.at(name).get_to(value);
    ++known;
  };
  read("caption_prefix", options.caption_prefix);
  read("caption_suffix", options.caption_suffix);
  read("caption_dropout_rate", options.caption_dropout_rate);
  read("caption_dropout_every_n_epochs", options.caption_dropout_every_n_epochs);
  read("caption_tag_dropout_rate", options.caption_tag_dropout_rate);
  read("enable_wildcard", options.enable_wildcard);
  read("shuffle_caption", options.shuffle_caption);
  read("keep_tokens", options.keep_tokens);
  read("keep_tokens_separator", options.keep_tokens_separator);
  read("caption_separator", options.caption_separator);
  read("secondary_separator", options.secondary_separator);
  read("token_warmup_min", options.token_warmup_min);
  read("token_warmup_step", options.token_warmup_step);
  if (known != subset.size())
    throw base::Error(base::ErrorCode::Format, "captions.json: unknown keys in " + subset.dump());
  return options;
}

std::vector<data::CaptionReplacement> replacements_of(const Json& env) {
  std::vector<data::CaptionReplacement> result;
  if (!env.contains("replacements")) return result;
  for (const auto& [from, to] : env.at("replacements").items())
    result.push_back(
        {from, to.is_array() ? to.get<std::vector<std::string>>() : std::vector<std::string>{to.get<std::string>()}});
  return result;
}

void run_case(const std::string& name, const Json& row, Reporter& reporter) {
  const Json& env = row.at("env");
  const data::CaptionMoment moment{.epoch = env.value("current_epoch", int64_t{1}),
                                   .step = env.value("current_step", int64_t{0}),
                                   .max_train_steps = env.value("max_train_steps", int64_t{0})};
  FixedRandom random(env.value("choice", size_t{0}));
  const std::string got = data::process_caption(row.at("caption").get<std::string>(), options_of(row.at("subset")),
                                                moment, replacements_of(env), random);
  const auto expected = row.at("result").get<std::string>();
  if (got == expected) return reporter.result(name, 0.0, 0.0);
  reporter.fail(name, "got \"" + got + "\", expected \"" + expected + "\"");
}

void run(const std::filesystem::path& folder, Reporter& reporter) {
  size_t number = 0;
  for (const Json& row : Json::parse(base::read_file(folder / "captions.json"))) {
    const std::string name = "captions." + std::to_string(number++);
    try {
      run_case(name, row, reporter);
    } catch (const std::exception& error) {
      reporter.fail(name, error.what());
    }
  }
}

CINNABAR_PARITY_GROUP(captions, "data.captions", run);

}  // namespace
}  // namespace cinnabar::parity
