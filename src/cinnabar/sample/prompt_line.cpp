// One line of a prompt file: the prompt, then flags behind " --". What a user typed as text must never be taken for a
// flag, and a flag that is not understood never ends a run: each is told with its line.
#include <algorithm>
#include <array>

#include "cinnabar/base/text_match.h"
#include "cinnabar/sample/prompt_file.h"
#include "cinnabar/sample/prompt_setting.h"
#include "cinnabar/text/unicode.h"

namespace cinnabar::sample {

namespace {

constexpr size_t kMostFlags = 64;

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view word_of(std::string_view segment) { return segment.substr(0, segment.find_first_of(" \t")); }

// The segments between " --", as the reference splits a line. One that starts with "--" has no prompt.
std::vector<std::string_view> split_at_dashes(std::string_view line) {
  std::vector<std::string_view> segments;
  if (line.starts_with("--")) {
    segments.push_back(line.substr(0, 0));
    line.remove_prefix(2);
  }
  for (;;) {
    const size_t at = line.find(" --");
    segments.push_back(line.substr(0, at));
    if (at == std::string_view::npos) return segments;
    line.remove_prefix(at + 3);
  }
}

// For a flag that is none: "" when nothing comes near.
std::string suggestion_for(std::string_view flag) {
  struct LongName {
    std::string_view name;
    std::string_view flag;
  };
  // Names of other programs and of the tables' keys.
  constexpr std::array kLongNames{LongName{"negative", "n"}, LongName{"neg", "n"},    LongName{"no", "n"},
                                  LongName{"width", "w"},    LongName{"height", "h"}, LongName{"steps", "s"},
                                  LongName{"step", "s"},     LongName{"cfg", "l"},    LongName{"guidance", "l"},
                                  LongName{"sampler", "ss"}};
  std::string name(flag);
  for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  for (const LongName& known : kLongNames) {
    if (known.name == name) return "--" + std::string(known.flag);
  }
  if (const PromptSetting* setting = setting_of_key(name)) return "--" + std::string(setting->flag);
  // "w512": the blank is missing.
  const auto digit = static_cast<size_t>(std::find_if(name.begin(), name.end(), is_ascii_digit) - name.begin());
  if (digit < name.size() && setting_of_flag(name.substr(0, digit)) != nullptr) {
    return "--" + name.substr(0, digit) + " " + name.substr(digit);
  }
  if (name.size() < 2) return "";
  for (const PromptSetting& setting : prompt_settings()) {
    if (setting.flag.size() > 1 && base::edit_distance(name, setting.flag) == 1) {
      return "--" + std::string(setting.flag);
    }
  }
  return "";
}

// Two dashes that belong to a sentence: nothing like a name follows them, or an unknown word with at least
// two more.
bool is_prose(std::string_view segment) {
  if (segment.empty() || !is_ascii_letter(segment.front())) return true;
  const std::string_view word = word_of(segment);
  if (setting_of_flag(word) != nullptr || !std::all_of(word.begin(), word.end(), is_ascii_letter)) return false;
  if (!suggestion_for(word).empty()) return false;
  const std::string_view rest = text::strip(segment.substr(word.size()));
  return !rest.empty() && is_ascii_letter(rest.front()) && rest.find(' ') != std::string_view::npos;
}

class LineParser {
 public:
  LineParser(const std::string& where, std::vector<std::string>& notes) : where_(where), notes_(notes) {}

  std::optional<Prompt> parse(std::string_view line) {
    read(split_at_dashes(text::strip(line)));
    Prompt prompt{.prompt = std::string(text::strip(text_))};
    if (prompt.prompt.empty()) {
      note(std::string(text::strip(line)) + ": there is no prompt before the flags; the line is left out");
      return std::nullopt;
    }
    check_long_dashes(prompt.prompt);
    for (size_t i = 0; i < flags_.size(); ++i) apply(prompt, i);
    return prompt;
  }

 private:
  void note(const std::string& message) { notes_.push_back(where_ + ": " + message); }

  // The prompt and the flags; prose goes back to the text that it came from.
  void read(const std::vector<std::string_view>& segments) {
    text_ = segments.front();
    for (size_t i = 1; i < segments.size(); ++i) {
      const bool has_text = flags_.empty() ? !text_.empty() : is_text_flag(flags_.back());
      if (!has_text || !is_prose(segments[i])) {
        if (flags_.size() >= kMostFlags) {
          note("more than " + std::to_string(kMostFlags) + " flags; those behind are left out");
          return;
        }
        flags_.emplace_back(segments[i]);
        continue;
      }
      std::string& before = flags_.empty() ? text_ : flags_.back();
      before += " --" + std::string(segments[i]);
      note("\" --" + std::string(segments[i]) + "\" is no flag and is kept as part of the " +
           (flags_.empty() ? "prompt" : "negative prompt"));
    }
  }

  static bool is_text_flag(const std::string& flag) { return word_of(flag) == "n" || word_of(flag) == "N"; }

  // Phones and word processors turn two dashes into one long one.
  void check_long_dashes(const std::string& prompt) {
    for (const std::string_view dash : {" \u2014", " \u2013"}) {
      for (size_t at = prompt.find(dash); at != std::string::npos; at = prompt.find(dash, at + 1)) {
        const std::string_view flag = word_of(std::string_view(prompt).substr(at + dash.size()));
        if (setting_of_flag(flag) == nullptr) continue;
        note("a long dash stands before \"" + std::string(flag) + "\", so it is part of the prompt; a flag is --" +
             std::string(flag));
      }
    }
  }

  void apply(Prompt& prompt, size_t index) {
    const std::string& segment = flags_[index];
    const std::string_view flag = word_of(segment);
    const PromptSetting* setting = setting_of_flag(flag);
    const std::string shown = "--" + segment + ": ";
    const std::string value(text::strip(std::string_view(segment).substr(flag.size())));
    if (setting == nullptr) {
      const std::string near = suggestion_for(flag);
      return note(shown + "no such flag, left out" + (near.empty() ? "" : "; did you mean " + near + "?") +
                  "; known are " + known_flags());
    }
    if (value.empty()) return note(shown + "the flag has no value; left out");
    const auto is_same = [&](const std::string& other) { return setting_of_flag(word_of(other)) == setting; };
    if (std::any_of(flags_.begin(), flags_.begin() + static_cast<std::ptrdiff_t>(index), is_same)) {
      note(shown + "the flag stands twice; the last value counts");
    }
    const std::string wrong = setting->assign(prompt, value);
    if (!wrong.empty()) note(shown + wrong);
  }

  const std::string& where_;
  std::vector<std::string>& notes_;
  std::string text_;
  std::vector<std::string> flags_;
};

}  // namespace

std::optional<Prompt> parse_prompt_line(std::string_view line, const std::string& where,
                                        std::vector<std::string>& notes) {
  return LineParser(where, notes).parse(line);
}

}  // namespace cinnabar::sample
