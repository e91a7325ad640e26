#include "cinnabar/schema/option_groups.h"

namespace cinnabar::schema {

namespace {

const char* const kCaptionGroup = "Captions";

Option flag(const char* name, const char* label, const char* help) {
  return {.name = name,
          .type = Type::Flag,
          .fallback = false,
          .group = kCaptionGroup,
          .level = Level::Advanced,
          .label = label,
          .help = help};
}

Option rate(const char* name, const char* label, const char* help) {
  return {.name = name,
          .type = Type::Float,
          .fallback = 0.0,
          .range = {{0, 1}},
          .typical = {{0, 0.1}},
          .group = kCaptionGroup,
          .level = Level::Advanced,
          .label = label,
          .help = help};
}

Option text(const char* name, Value fallback, const char* label, const char* help) {
  return {.name = name,
          .type = Type::Text,
          .fallback = std::move(fallback),
          .group = kCaptionGroup,
          .level = Level::Advanced,
          .label = label,
          .help = help};
}

}  // namespace

std::vector<Option> caption_options() {
  return {
      flag("shuffle_caption", "Shuffle tags", "Puts the tags of a caption in another order each time."),
      {.name = "keep_tokens",
       .type = Type::Int,
       .fallback = 0,
       .range = {{0, 1024}},
       .typical = {{0, 2}},
       .group = kCaptionGroup,
       .level = Level::Advanced,
       .unit = "tags",
       .shown_if = "shuffle_caption or caption_tag_dropout_rate > 0 or token_warmup_step > 0 or dataset_config",
       .label = "Fixed tags",
       .help = "How many tags at the front are neither shuffled nor dropped."},
      text("keep_tokens_separator", "", "Fixed part mark",
           "A mark in captions: tags before its first and after its second occurrence stay fixed."),
      text("caption_separator", ",", "Tag separator", "The text between two tags."),
      text("caption_joiner", {}, "Joining text",
           "The text put between tags after shuffling or dropping. Unset: caption_separator and a space. sd-scripts "
           "always puts a comma and a space."),
      {.name = "caption_lines",
       .type = Type::Text,
       .choices = {"first", "random", "join"},
       .group = kCaptionGroup,
       .level = Level::Advanced,
       .label = "Lines",
       .help = "What is used of a caption with several lines: the first, one drawn anew each time, or all joined like "
               "tags. Unset: the first, or with enable_wildcard a random one."},
      flag("skip_uncaptioned", "Skip without caption", "Leaves pictures out that have no caption or an empty one."),
      flag("face_captions", "Captions of face cuts",
           "Pictures named NAME_1_2_3_4, as face cutters write them, may have their caption in NAME.txt."),
      text("secondary_separator", {}, "Group separator",
           "A separator inside a group of tags that stay together; replaced by caption_separator after shuffling."),
      flag("enable_wildcard", "Wildcards",
           "Picks one of the alternatives in {red|blue}, and one line of a caption with several lines."),
      flag("weighted_captions", "Weighted words",
           "Reads (word:1.3), (word) and [word] in captions as weights of the words, as prompts do."),
      text("caption_prefix", {}, "Prefix", "A text put before every caption, with a space between."),
      text("caption_suffix", {}, "Suffix", "A text put after every caption, with a space between."),
      rate("caption_dropout_rate", "Caption dropout", "The probability that a picture is seen without its caption."),
      {.name = "caption_dropout_every_n_epochs",
       .type = Type::Int,
       .fallback = 0,
       .range = {{0, 1e15}},
       .group = kCaptionGroup,
       .level = Level::Expert,
       .unit = "epochs",
       .label = "Epochs without captions",
       .help = "Every n-th epoch goes without captions; 0 means none."},
      rate("caption_tag_dropout_rate", "Tag dropout", "The probability that a tag that is not fixed is left out."),
      {.name = "token_warmup_min",
       .type = Type::Int,
       .fallback = 1,
       .range = {{0, 1024}},
       .group = kCaptionGroup,
       .level = Level::Expert,
       .unit = "tags",
       .shown_if = "token_warmup_step > 0 or dataset_config",
       .label = "First tags",
       .help = "How many tags are used at the start of the tag warm-up."},
      {.name = "token_warmup_step",
       .type = Type::Float,
       .fallback = 0,
       .range = {{0, 1e15}},
       .group = kCaptionGroup,
       .level = Level::Expert,
       .unit = "steps",
       .label = "Tag warm-up",
       .help =
           "The step from which all tags are used; below 1 it is a share of all steps, and 0 turns the warm-up off."},
  };
}

}  // namespace cinnabar::schema
