#include "cinnabar/data/caption.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "cinnabar/base/error.h"
#include "cinnabar/text/unicode.h"

namespace cinnabar::data {
namespace {

// Bytes that never occur in UTF-8 stand for "{{" and "}}" while wildcards are replaced.
constexpr char kOpenBrace = '\xFE';
constexpr char kCloseBrace = '\xFF';

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + separator.size());
  }
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (const std::string_view part : split(text, from)) {
    if (part.data() != text.data()) result += to;
    result += part;
  }
  return result;
}

// "{a|b}" becomes "a" or "b"; "{{" and "}}" become braces. A group is everything from "{" to the next "}", not empty.
std::string replace_wildcards(std::string_view text, CaptionRandom& random) {
  const std::string guarded = replace_all(replace_all(text, "{{", {&kOpenBrace, 1}), "}}", {&kCloseBrace, 1});
  // Behind the last "}" nothing is looked for: each "{" would search all the rest.
  const size_t last = guarded.rfind('}');
  std::string result;
  for (size_t at = 0; at < guarded.size();) {
    const bool may_open = guarded[at] == '{' && last != std::string::npos && at < last;
    const size_t end = may_open ? guarded.find('}', at) : std::string::npos;
    if (end == std::string::npos || end == at + 1) {
      result += guarded[at++];
      continue;
    }
    const std::vector<std::string_view> choices = split(std::string_view(guarded).substr(at + 1, end - at - 1), "|");
    result += choices.at(random.choice(choices.size()));
    at = end + 1;
  }
  std::ranges::replace(result, kOpenBrace, '{');
  std::ranges::replace(result, kCloseBrace, '}');
  return result;
}

struct Tags {
  std::vector<std::string> fixed;
  std::vector<std::string> flexible;
  std::vector<std::string> suffix;
};

std::vector<std::string> split_tags(std::string_view text, std::string_view separator, bool keeps_blank) {
  std::vector<std::string> tags;
  for (const std::string_view part : split(text, separator)) {
    const std::string_view tag = text::strip(part);
    if (keeps_blank || !tag.empty()) tags.emplace_back(tag);
  }
  return tags;
}

Tags split_caption(std::string_view caption, const CaptionOptions& options) {
  const std::string& separator = options.caption_separator;
  const std::string& keep = options.keep_tokens_separator;
  Tags tags;
  if (const size_t at = keep.empty() ? std::string_view::npos : caption.find(keep); at != std::string_view::npos) {
    tags.fixed = split_tags(caption.substr(0, at), separator, false);
    std::string_view rest = caption.substr(at + keep.size());
    if (const size_t second = rest.find(keep); second != std::string_view::npos) {
      tags.suffix = split_tags(rest.substr(second + keep.size()), separator, false);
      rest = rest.substr(0, second);
    }
    tags.flexible = split_tags(rest, separator, false);
    return tags;
  }
  tags.flexible = split_tags(text::strip(caption), separator, true);
  const auto kept = std::clamp<int64_t>(options.keep_tokens, 0, static_cast<int64_t>(tags.flexible.size()));
  const auto end = tags.flexible.begin() + kept;
  tags.fixed.assign(std::make_move_iterator(tags.flexible.begin()), std::make_move_iterator(end));
  tags.flexible.erase(tags.flexible.begin(), end);
  return tags;
}

// How many flexible tags the warm-up leaves of `count`.
size_t warmed_up_count(size_t count, const CaptionOptions& options, const CaptionMoment& moment) {
  const double steps = options.token_warmup_step < 1.0
                           ? std::floor(options.token_warmup_step * static_cast<double>(moment.max_train_steps))
                           : options.token_warmup_step;
  const auto step = static_cast<double>(moment.step);
  if (steps <= 0.0 || step >= steps) return count;
  // This order of operations: the floor depends on its rounding.
  const auto minimum = static_cast<double>(options.token_warmup_min);
  const double tags = std::floor(step * ((static_cast<double>(count) - minimum) / steps)) + minimum;
  return static_cast<size_t>(std::clamp(tags, 0.0, static_cast<double>(count)));
}

std::string joiner_of(const CaptionOptions& options) {
  if (!options.caption_joiner.empty()) return options.caption_joiner;
  const std::string& separator = options.caption_separator;
  const bool ends_blank = separator.ends_with(' ') || separator.ends_with('\n') || separator.ends_with('\t');
  return ends_blank ? separator : separator + " ";
}

std::string joined_lines(std::string_view text, const CaptionOptions& options) {
  const std::string joiner = joiner_of(options);
  std::string result;
  for (const std::string_view line : split(text, "\n")) {
    const std::string_view stripped = text::strip(line);
    if (stripped.empty()) continue;
    // A line that ends in the separator already has its own.
    const std::string_view separator = text::strip(options.caption_separator);
    const bool has_own = !separator.empty() && text::strip(result).ends_with(separator);
    if (!result.empty()) result += has_own ? " " : joiner;
    result += stripped;
  }
  return result;
}

// The line that an explicit policy takes. sd-scripts' own way puts prefix and suffix on first, and comes later.
std::string chosen_line(std::string_view text, const CaptionOptions& options, CaptionRandom& random) {
  switch (options.caption_lines) {
    case CaptionLines::Reference:
      break;
    case CaptionLines::First:
      return std::string(text.substr(0, text.find('\n')));
    case CaptionLines::Random: {
      const std::vector<std::string_view> lines = split(text, "\n");
      return std::string(lines.size() == 1 ? lines[0] : lines.at(random.choice(lines.size())));
    }
    case CaptionLines::Join:
      return joined_lines(text, options);
  }
  return std::string(text);
}

std::string process_tags(std::string_view caption, const CaptionOptions& options, const CaptionMoment& moment,
                         CaptionRandom& random) {
  if (options.caption_separator.empty())
    throw base::Error(base::ErrorCode::Config,
                      "caption_separator = \"\": expected at least one character (for example \",\"), because "
                      "shuffle_caption, token_warmup_step or caption_tag_dropout_rate splits captions at it");
  Tags tags = split_caption(caption, options);
  tags.flexible.resize(warmed_up_count(tags.flexible.size(), options, moment));
  if (options.shuffle_caption) random.shuffle(tags.flexible);
  if (options.caption_tag_dropout_rate > 0.0)
    std::erase_if(tags.flexible,
                  [&](const std::string&) { return random.uniform() < options.caption_tag_dropout_rate; });
  const std::string joiner = joiner_of(options);
  std::string result;
  bool is_first = true;
  for (const std::vector<std::string>* part : {&tags.fixed, &tags.flexible, &tags.suffix}) {
    for (const std::string& tag : *part) {
      if (!is_first) result += joiner;
      is_first = false;
      result += tag;
    }
  }
  return result;
}

bool is_dropped(const CaptionOptions& options, const CaptionMoment& moment, CaptionRandom& random) {
  if (options.caption_dropout_rate > 0.0 && random.uniform() < options.caption_dropout_rate) return true;
  return options.caption_dropout_every_n_epochs > 0 && moment.epoch % options.caption_dropout_every_n_epochs == 0;
}

}  // namespace

StreamCaptionRandom::StreamCaptionRandom(uint64_t seed, uint64_t epoch, uint64_t sample)
    : dropout_(seed, base::Purpose::CaptionDropout, epoch, sample),
      order_(seed, base::Purpose::CaptionShuffle, epoch, sample) {}

double StreamCaptionRandom::uniform() { return dropout_.uniform(); }
size_t StreamCaptionRandom::choice(size_t count) {
  return static_cast<size_t>(order_.integer(0, static_cast<int64_t>(count)));
}
void StreamCaptionRandom::shuffle(std::span<std::string> tags) { order_.shuffle(tags); }

std::string process_caption(std::string_view caption, const CaptionOptions& options, const CaptionMoment& moment,
                            std::span<const CaptionReplacement> replacements, CaptionRandom& random) {
  std::string text = chosen_line(caption, options, random);
  if (!options.caption_prefix.empty()) text = options.caption_prefix + " " + text;
  if (!options.caption_suffix.empty()) text += " " + options.caption_suffix;
  if (is_dropped(options, moment, random)) return {};

  if (options.enable_wildcard) {
    const std::vector<std::string_view> lines = split(text, "\n");
    const std::string line(lines.size() == 1 ? lines[0] : lines.at(random.choice(lines.size())));
    text = replace_wildcards(line, random);
  } else {
    text = text.substr(0, text.find('\n'));
  }
  if (options.shuffle_caption || options.token_warmup_step > 0.0 || options.caption_tag_dropout_rate > 0.0)
    text = process_tags(text, options, moment, random);
  if (!options.secondary_separator.empty())
    text = replace_all(text, options.secondary_separator, options.caption_separator);
  for (const CaptionReplacement& replacement : replacements) {
    const std::string& to =
        replacement.to.size() == 1 ? replacement.to[0] : replacement.to.at(random.choice(replacement.to.size()));
    text = replacement.from.empty() ? to : replace_all(text, replacement.from, to);
  }
  return text;
}

std::optional<CaptionLines> caption_lines_from(std::string_view name) {
  if (name == "first") return CaptionLines::First;
  if (name == "random") return CaptionLines::Random;
  if (name == "join") return CaptionLines::Join;
  return std::nullopt;
}

bool uses_all_lines(const CaptionOptions& options) {
  return options.caption_lines == CaptionLines::Random || options.caption_lines == CaptionLines::Join ||
         (options.caption_lines == CaptionLines::Reference && options.enable_wildcard);
}

std::vector<std::string> varying_caption_options(const CaptionOptions& options) {
  std::vector<std::string> names;
  const auto add = [&](bool varies, const char* name) {
    if (varies) names.emplace_back(name);
  };
  add(options.caption_dropout_rate > 0.0, "caption_dropout_rate");
  add(options.caption_dropout_every_n_epochs > 0, "caption_dropout_every_n_epochs");
  add(options.caption_tag_dropout_rate > 0.0, "caption_tag_dropout_rate");
  add(options.enable_wildcard, "enable_wildcard");
  add(options.shuffle_caption, "shuffle_caption");
  add(options.token_warmup_step > 0.0, "token_warmup_step");
  add(options.caption_lines == CaptionLines::Random, "caption_lines");
  return names;
}

}  // namespace cinnabar::data
