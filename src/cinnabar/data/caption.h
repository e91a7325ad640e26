// What becomes of a caption each time its picture is drawn (sd-scripts, process_caption).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cinnabar/base/random_stream.h"

namespace cinnabar::data {

// Which part of a caption of several lines is used.
enum class CaptionLines {
  Reference,  // as sd-scripts: the first line, or with enable_wildcard one drawn anew each time
  First,
  Random,  // one line, drawn anew each time
  Join,    // all lines as one, as if they were tags
};

// Names are sd-scripts'. Zero and empty switch a step off.
struct CaptionOptions {
  std::string caption_prefix{};
  std::string caption_suffix{};
  double caption_dropout_rate = 0.0;           // probability that the caption is empty
  int64_t caption_dropout_every_n_epochs = 0;  // captions of every n-th epoch are empty
  double caption_tag_dropout_rate = 0.0;       // probability for each tag that is not kept
  bool enable_wildcard = false;                // "{a|b}", and one line of several
  bool shuffle_caption = false;
  int64_t keep_tokens = 0;              // leading tags that are neither shuffled nor dropped
  std::string keep_tokens_separator{};  // or: kept ||| shuffled ||| kept
  std::string caption_separator = ",";
  std::string secondary_separator{};
  int64_t token_warmup_min = 1;    // tags at step 0 of the warm-up
  double token_warmup_step = 0.0;  // steps until all tags are there; below 1: a share of max_train_steps
  CaptionLines caption_lines = CaptionLines::Reference;
  // Between tags after shuffling or dropping. Empty: caption_separator with a space. sd-scripts always puts ", ".
  std::string caption_joiner{};
};

// "first", "random", "join". Anything else: nothing.
std::optional<CaptionLines> caption_lines_from(std::string_view name);
// Whether a caption file is read with all its lines.
bool uses_all_lines(const CaptionOptions& options);

// When the caption is drawn.
struct CaptionMoment {
  int64_t epoch = 1;  // from 1
  int64_t step = 0;   // optimizer steps done
  int64_t max_train_steps = 0;
};

// Textual inversion: `from` becomes one of `to`; an empty `from` replaces the whole caption. Applied in order.
struct CaptionReplacement {
  std::string from;
  std::vector<std::string> to;  // one text at least
};

// Every random choice of a caption comes from here.
class CaptionRandom {
 public:
  virtual ~CaptionRandom() = default;
  virtual double uniform() = 0;             // [0, 1)
  virtual size_t choice(size_t count) = 0;  // [0, count), count > 0
  virtual void shuffle(std::span<std::string> tags) = 0;
};

// Keyed by (seed, epoch, sample), so that a caption depends on nothing else.
class StreamCaptionRandom : public CaptionRandom {
 public:
  StreamCaptionRandom(uint64_t seed, uint64_t epoch, uint64_t sample);
  double uniform() override;
  size_t choice(size_t count) override;
  void shuffle(std::span<std::string> tags) override;

 private:
  base::RandomStream dropout_;
  base::RandomStream order_;
};

// Throws Error{Config} for an empty caption_separator where tags are to be split.
std::string process_caption(std::string_view caption, const CaptionOptions& options, const CaptionMoment& moment,
                            std::span<const CaptionReplacement> replacements, CaptionRandom& random);

// Names of the options that make a caption differ from one draw to the next: with one of them text states cannot be
// cached.
std::vector<std::string> varying_caption_options(const CaptionOptions& options);

}  // namespace cinnabar::data
