#include "cinnabar/schema/describe.h"

#include <algorithm>

#include "cinnabar/schema/value_text.h"

namespace cinnabar::schema {

namespace {

constexpr size_t kIndent = 6;

std::string placeholder(const Option& option) {
  switch (option.type) {
    case Type::Flag:
      return "";
    case Type::Int:
      return " N";
    case Type::Float:
      return " X";
    case Type::Text:
      return " TEXT";
    case Type::Path:
      return option.path == PathKind::Folder ? " FOLDER" : " PATH";
    case Type::TextList:
      return " TEXT ...";
    case Type::FloatList:
      return " X ...";
    case Type::Steps:
      return " STEPS";
    case Type::Size:
      return " SIZE";
  }
  return {};
}

std::string sentence(const Option& option) {
  std::string text = option.help;
  if (!option.choices.empty()) {
    text += " One of";
    for (const std::string& choice : option.choices) text += (&choice == &option.choices.front() ? " " : ", ") + choice;
    text += ".";
  }
  if (option.fallback.index() != 0 && option.type != Type::Flag) {
    const std::string fallback = value_text(option.fallback);
    if (!fallback.empty()) text += " Default: " + fallback + ".";
  }
  return text;
}

void append_wrapped(std::string& out, const std::string& text, size_t columns) {
  size_t column = 0;
  size_t start = 0;
  while (start < text.size()) {
    const size_t end = std::min(text.find(' ', start), text.size());
    const size_t length = end - start;
    if (column == 0 || column + 1 + length > columns) {
      out += (column == 0 ? "" : "\n") + std::string(kIndent, ' ');
      column = kIndent;
    } else {
      out += ' ';
      ++column;
    }
    out += text.substr(start, length);
    column += length;
    start = end + 1;
  }
  out += '\n';
}

}  // namespace

std::string help_text(const Schema& schema, size_t columns) {
  std::string out;
  for (const std::string& group : schema.groups()) {
    out += "\n" + group + "\n";
    for (const Option& option : schema.options()) {
      if (option.group != group) continue;
      out += "  --" + option.name + placeholder(option);
      for (const std::string& alias : option.aliases) out += ", --" + alias;
      out += "\n";
      append_wrapped(out, sentence(option), columns);
    }
  }
  for (const EntryTable& table : schema.tables()) {
    if (table.selector.empty()) continue;
    out += "\nValues of --" + table.selector + "\n";
    for (const Entry& entry : table.entries) {
      out += "  " + entry.name + "\n";
      append_wrapped(out, entry.help, columns);
      if (table.arguments.empty()) continue;
      std::string keys;
      for (const Option& option : entry.options) keys += (keys.empty() ? "" : ", ") + option.name;
      if (!keys.empty()) append_wrapped(out, "Keys of --" + table.arguments + ": " + keys + ".", columns);
    }
  }
  return out;
}

}  // namespace cinnabar::schema
