#include <algorithm>
#include <array>
#include <string_view>

#include "cinnabar/base/text_match.h"
#include "cinnabar/schema/planned.h"
#include "cinnabar/schema/source.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::schema {

namespace {

bool is_list(const Option& option) { return option.type == Type::TextList || option.type == Type::FloatList; }

// "--name" and "-n", but not negative numbers.
bool is_name(const std::string& word) {
  return word.size() > 1 && word.front() == '-' && !parse_number(word) && word != "-";
}

// What people write behind a switch, and what else would be taken for a file.
bool is_switch_word(std::string word) {
  std::ranges::transform(word, word.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  constexpr std::array<std::string_view, 6> kWords = {"true", "false", "yes", "no", "on", "off"};
  return std::ranges::find(kWords, word) != kWords.end();
}

class WordReader {
 public:
  WordReader(const Schema& schema, const std::vector<std::string>& words, std::string where, Source& source,
             Problems& problems)
      : schema_(schema), words_(words), where_(std::move(where)), source_(source), problems_(problems) {}

  void run() {
    while (next_ < words_.size()) {
      const std::string word = words_[next_++];
      if (word == "--") {
        while (next_ < words_.size()) positionals_.push_back(words_[next_++]);
      } else if (is_name(word)) {
        read_option(word);
      } else {
        positionals_.push_back(word);
      }
    }
    assign_positionals();
  }

 private:
  void read_option(const std::string& word) {
    const size_t equals = word.find('=');
    std::string name = word.substr(0, equals);
    name.erase(0, name.find_first_not_of('-'));
    std::replace(name.begin(), name.end(), '-', '_');
    std::vector<std::string> texts;
    const bool has_value = equals != std::string::npos;
    if (has_value) texts.push_back(word.substr(equals + 1));
    if (const Option* option = schema_.find(name)) {
      read_known(*option, word.substr(0, equals), has_value, texts);
    } else if (find_planned(name) != nullptr) {
      if (!has_value) take_words(texts);
      std::string joined;
      for (const std::string& text : texts) joined += (joined.empty() ? "" : " ") + text;
      if (texts.empty()) joined = "true";
      source_.planned[name] = {joined, where_, joined};
    } else {
      if (!has_value) take_words(texts);
      problems_.add({where_, "", word.substr(0, equals),
                     problems_.is_full() ? "unknown option" : unknown_option_text(schema_, name)});
    }
  }

  void read_known(const Option& option, const std::string& shown, bool has_value, std::vector<std::string> texts) {
    if (!has_value && option.type == Type::Flag) {
      if (next_ < words_.size() && is_switch_word(words_[next_])) {
        problems_.add({where_, "", shown + " " + words_[next_++],
                       "a switch stands alone: " + shown + " turns it on, " + shown + "=false off"});
        return;
      }
      texts.push_back("true");
    }
    if (!has_value && is_list(option)) take_words(texts);
    if (!has_value && texts.empty() && next_ < words_.size() && !is_name(words_[next_]))
      texts.push_back(words_[next_++]);
    if (texts.empty()) {
      problems_.add({where_, "", shown, "a value must follow: expected " + expected_text(option)});
      return;
    }
    store(option, texts);
  }

  void store(const Option& option, const std::vector<std::string>& texts) {
    std::string joined;
    for (const std::string& text : texts) joined += (joined.empty() ? "" : " ") + text;
    const base::Result<Value> value = parse_values(option, texts);
    if (!value) {
      problems_.add({where_, option.name, joined, value.error().message()});
      return;
    }
    Given given{value.value(), where_, joined};
    const auto before = source_.values.find(option.name);
    if (option.is_positional && !is_list(option) && before != source_.values.end() && before->second.text != joined) {
      problems_.add({where_, option.name, "",
                     "given twice, as " + before->second.text + " and as " + joined + "; keep one of them"});
      return;
    }
    if (option.is_repeatable && before != source_.values.end()) {
      auto items = std::get<std::vector<std::string>>(before->second.value);
      const auto& more = std::get<std::vector<std::string>>(given.value);
      items.insert(items.end(), more.begin(), more.end());
      given.value = items;
      given.text = before->second.text + " " + joined;
    }
    source_.values[option.name] = given;
  }

  // Everything up to the next option.
  void take_words(std::vector<std::string>& texts) {
    while (next_ < words_.size() && !is_name(words_[next_])) texts.push_back(words_[next_++]);
  }

  void assign_positionals() {
    size_t used = 0;
    for (const Option& option : schema_.options()) {
      if (!option.is_positional || used == positionals_.size()) continue;
      // A list takes all that are left.
      const size_t count = is_list(option) ? positionals_.size() - used : 1;
      const auto first = positionals_.begin() + static_cast<std::ptrdiff_t>(used);
      store(option, {first, first + static_cast<std::ptrdiff_t>(count)});
      used += count;
    }
    for (; used < positionals_.size(); ++used) {
      problems_.add({where_, "", positionals_[used], "not expected here: options are written --NAME VALUE"});
    }
  }

  const Schema& schema_;
  const std::vector<std::string>& words_;
  const std::string where_;
  Source& source_;
  Problems& problems_;
  size_t next_ = 0;
  std::vector<std::string> positionals_;
};

}  // namespace

void read_command_line(const Schema& schema, const std::vector<std::string>& words, const std::string& where,
                       Source& source, Problems& problems) {
  WordReader(schema, words, where, source, problems).run();
}

std::string unknown_option_text(const Schema& schema, const std::string& name) {
  // One or two letters are near to anything.
  constexpr size_t kLeastLetters = 3;
  for (const EntryTable& table : schema.tables()) {
    for (const Entry& entry : table.entries) {
      const bool is_key =
          !table.arguments.empty() && std::ranges::find(entry.options, name, &Option::name) != entry.options.end();
      if (is_key)
        return "unknown option; it is a key of " + table.arguments + ": --" + table.arguments + " " + name + "=VALUE";
    }
  }
  if (name.size() < kLeastLetters) return "unknown option; options are written out, and --help lists all of them";
  if (const std::string near = schema.nearest(name); !near.empty()) return "unknown option; did you mean " + near + "?";
  // What the name begins with ("lora" of "lora_multiplier") before something that is not built.
  for (size_t end = name.rfind('_'); end != std::string::npos && end >= 3; end = name.rfind('_', end - 1)) {
    const Option* option = schema.find(name.substr(0, end));
    if (option != nullptr) return "unknown option; did you mean " + option->name + "?";
  }
  std::vector<std::string> names;
  for (const PlannedOption& option : planned_options()) names.emplace_back(option.name);
  const std::string near = base::nearest_name(name, names);
  if (near.empty() || base::edit_distance(name, near) > 2) return "unknown option; --help lists all of them";
  const bool is_later = find_planned(near)->kind != PlannedKind::NoEffect;
  return "unknown option; did you mean " + near + (is_later ? ", which is not supported yet?" : "?");
}

}  // namespace cinnabar::schema
