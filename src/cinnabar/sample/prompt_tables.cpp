#include "cinnabar/sample/prompt_tables.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cinnabar/base/error.h"
#include "cinnabar/base/json_tree.h"
#include "cinnabar/base/text_match.h"
#include "cinnabar/sample/prompt_setting.h"
#include "cinnabar/schema/toml_limits.h"
#include "cinnabar/schema/toml_parser.h"

namespace cinnabar::sample {

namespace {

using nlohmann::json;

constexpr size_t kMostKeys = 64;  // of one prompt; a dozen are known
constexpr std::string_view kFull =
    "the prompts behind these are left out: at most 10000 prompts and 1000 mistakes are read";

// One key of a table. A value that is no text, number or flag is shown as "null" and refused by the setting.
void assign(Prompt& prompt, const std::string& key, const std::string& value, const std::string& where,
            std::vector<std::string>& notes) {
  if (key == "prompt") {
    prompt.prompt = value;
    return;
  }
  const PromptSetting* setting = setting_of_key(key);
  std::string wrong;
  if (setting != nullptr) {
    wrong = setting->assign(prompt, value);
  } else {
    std::vector<std::string> keys;
    for (const PromptSetting& known : prompt_settings()) keys.emplace_back(known.key);
    const std::string near = base::nearest_name(key, keys);
    const PromptSetting* flag = setting_of_flag(key);
    const std::string meant = flag != nullptr ? std::string(flag->key) : near;
    wrong = "no such key, left out" + (meant.empty() ? "" : "; did you mean " + meant + "?") + "; known are " +
            known_keys();
  }
  if (!wrong.empty()) notes.push_back(where + ": " + key + " = " + value + ": " + wrong);
}

// Nothing more is taken then; says so once.
bool is_full(PromptList& list) {
  if (list.prompts.size() < kMostPrompts && list.notes.size() < kMostPromptNotes) return false;
  if (list.notes.empty() || list.notes.back() != kFull) list.notes.emplace_back(kFull);
  return true;
}

std::string text_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
  if (const auto* number = node.as_floating_point()) return json(number->get()).dump();
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return "null";
}

class TomlPrompts {
 public:
  TomlPrompts(std::string name, PromptList& list) : name_(std::move(name)), list_(list) {}

  void read(const toml::table& root) {
    for (const auto& [key, node] : root) {
      if (is_full(list_)) return;
      if (key.str() != "prompt") note(node, std::string(key.str()) + ": left out; prompts stand below [prompt]");
    }
    const toml::table* shared = root["prompt"].as_table();
    if (shared == nullptr) {
      list_.notes.push_back(name_ + ": there is no table [prompt]");
      return;
    }
    const toml::node* subsets = shared->get("subset");
    if (subsets == nullptr) {
      add(*shared, toml::table{});
    } else if (const toml::array* tables = subsets->as_array()) {
      for (const toml::node& table : *tables) {
        if (is_full(list_)) return;
        if (table.is_table()) {
          add(*shared, *table.as_table());
        } else {
          note(table, "subset: expected tables, [[prompt.subset]]");
        }
      }
    } else {
      note(*subsets, "subset: expected tables, [[prompt.subset]]");
    }
  }

 private:
  std::string where(const toml::node& node) const { return name_ + ":" + std::to_string(node.source().begin.line); }
  void note(const toml::node& node, const std::string& message) { list_.notes.push_back(where(node) + ": " + message); }

  void add(const toml::table& shared, const toml::table& own) {
    if (is_full(list_)) return;
    if (shared.size() + own.size() > kMostKeys) {
      return note(own.empty() ? shared : own,
                  "this prompt has more than " + std::to_string(kMostKeys) + " keys; left out");
    }
    const toml::node* words = own.contains("prompt") ? own.get("prompt") : shared.get("prompt");
    if (words != nullptr && !words->is_string()) return note(*words, "prompt: expected a text; left out");
    Prompt prompt;
    for (const auto& [key, node] : shared) {
      if (key.str() == "subset") continue;
      if (own.contains(key.str())) {
        note(*own.get(key.str()), std::string(key.str()) + ": stands in [prompt], too; the subset's value is taken");
      } else {
        assign(prompt, std::string(key.str()), text_of(node), where(node), list_.notes);
      }
    }
    for (const auto& [key, node] : own) {
      assign(prompt, std::string(key.str()), text_of(node), where(node), list_.notes);
    }
    if (own.contains("prompt") || shared.contains("prompt")) {
      list_.prompts.push_back(std::move(prompt));
    } else {
      note(own.empty() ? shared : own, "this prompt has no key \"prompt\"; left out");
    }
  }

  std::string name_;
  PromptList& list_;
};

// Line of each entry of the outermost list.
std::vector<size_t> entry_lines(const std::string& text) {
  std::vector<size_t> lines;
  size_t line = 1;
  int depth = 0;
  bool is_inside_string = false;
  bool is_entry_next = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (is_inside_string) {
      if (c == '\\') ++i;
      if (c == '"') is_inside_string = false;
      continue;
    }
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') continue;
    if (depth == 1 && is_entry_next && c != ']') {
      lines.push_back(line);
      is_entry_next = false;
    }
    if (c == '"') is_inside_string = true;
    if (c == '[' || c == '{') is_entry_next = ++depth == 1;
    if (c == ']' || c == '}') --depth;
    if (c == ',' && depth == 1) is_entry_next = true;
  }
  return lines;
}

void add_object(const nlohmann::ordered_json& object, const std::string& where, PromptList& list) {
  if (object.size() > kMostKeys) {
    list.notes.push_back(where + ": more than " + std::to_string(kMostKeys) + " keys; left out");
    return;
  }
  if (!object.contains("prompt")) {
    list.notes.push_back(where + ": there is no key \"prompt\"; left out");
    return;
  }
  if (!object["prompt"].is_string()) {
    list.notes.push_back(where + ": prompt = " + object["prompt"].dump(-1, ' ', false, json::error_handler_t::replace) +
                         ": expected a text; left out");
    return;
  }
  Prompt prompt;
  for (const auto& [key, value] : object.items()) {
    if (key == "enum" || value.is_null()) continue;  // a running number that the reference adds itself; unset
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    assign(prompt, key, text, where, list.notes);
  }
  list.prompts.push_back(std::move(prompt));
}

}  // namespace

PromptList read_toml_prompts(const std::string& text, const std::string& name) {
  if (schema::looks_like_json(text)) return read_json_prompts(text, name);
  PromptList list;
  try {
    schema::check_toml(text, name);
    const toml::table root = toml::parse(text);
    TomlPrompts(name, list).read(root);
  } catch (const base::Error& error) {
    list.notes.push_back(error.message());
  } catch (const toml::parse_error& error) {
    list.notes.push_back(name + ":" + std::to_string(error.source().begin.line) + ": " +
                         std::string(error.description()));
  }
  return list;
}

PromptList read_json_prompts(const std::string& text, const std::string& name) {
  PromptList list;
  nlohmann::ordered_json root;
  if (const auto fault = base::read_json_tree(text, root)) {
    const size_t at = std::min(fault->byte.value_or(0), text.size());
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    const size_t before = text.substr(0, at).rfind('\n');
    const size_t column = before == std::string::npos ? at : at - before - 1;
    list.notes.push_back(name + (fault->byte ? ":" + std::to_string(line) : "") + ": " + fault->reason +
                         (fault->byte ? ", at column " + std::to_string(std::max<size_t>(column, 1)) : ""));
    return list;
  }
  if (root.is_object() && root.contains("prompt")) {
    add_object(root, name, list);
    list.notes.push_back(name + ": one prompt without its list; read as [{...}], which is how sd-scripts needs it");
    return list;
  }
  if (!root.is_array()) {
    list.notes.push_back(
        name + ": this is " +
        (root.is_object() ? std::string("one object without a key \"prompt\"") : "a " + std::string(root.type_name())) +
        "; expected a list of prompts, [{\"prompt\": \"a cat\"}, ...]");
    return list;
  }
  const std::vector<size_t> lines = entry_lines(text);
  for (size_t i = 0; i < root.size() && !is_full(list); ++i) {
    const std::string line = i < lines.size() ? ":" + std::to_string(lines[i]) : "";
    const std::string where = name + line + ", entry " + std::to_string(i + 1);
    if (root[i].is_string()) {
      auto prompt = parse_prompt_line(root[i].get<std::string>(), where, list.notes);
      if (prompt) list.prompts.push_back(std::move(*prompt));
    } else if (root[i].is_object()) {
      add_object(root[i], where, list);
    } else {
      list.notes.push_back(where + ": expected an object or a line of text; left out");
    }
  }
  return list;
}

}  // namespace cinnabar::sample
