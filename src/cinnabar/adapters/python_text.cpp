#include "cinnabar/adapters/python_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "cinnabar/base/trimmed.h"

namespace cinnabar::adapters {

namespace {

// repr() of a string without control characters.
std::string quoted(const std::string& text) {
  const char mark = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string result(1, mark);
  for (const char c : text) {
    if (c == mark || c == '\\') result += '\\';
    result += c;
  }
  return result + mark;
}

template <class Items, class Print>
std::string joined(const Items& items, const Print& print) {
  std::string result;
  for (const auto& item : items) result += (result.empty() ? "" : ", ") + print(item);
  return result;
}

// The parts between commas that lie in no bracket and no quotes.
std::vector<std::string> split_outside_brackets(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    }
    if (c == ',' && depth == 0 && quote == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

bool is_wrapped(const std::string& text, char open, char close) {
  return text.size() >= 2 && text.front() == open && text.back() == close;
}

// repr() of a literal; texts inside of lists keep their quotes.
std::string literal_repr(const std::string& raw) {
  const std::string text = base::trimmed(raw);
  const std::vector<std::string> parts = split_outside_brackets(text);
  if (parts.size() > 1) {
    std::vector<std::string> items = parts;
    if (base::trimmed(items.back()).empty()) items.pop_back();  // "0.9," is a tuple of one
    return "(" + joined(items, literal_repr) + (items.size() == 1 ? ",)" : ")");
  }
  if (is_wrapped(text, '(', ')')) return literal_repr(text.substr(1, text.size() - 2));
  if (is_wrapped(text, '[', ']')) {
    const std::string inner = text.substr(1, text.size() - 2);
    return base::trimmed(inner).empty() ? "[]" : "[" + joined(split_outside_brackets(inner), literal_repr) + "]";
  }
  int64_t whole = 0;
  const char* end = text.data() + text.size();
  if (std::from_chars(text.data(), end, whole).ptr == end && !text.empty()) return std::to_string(whole);
  double number = 0.0;
  if (std::from_chars(text.data(), end, number).ptr == end && !text.empty()) return python_float(number);
  return text;
}

void append_json_text(std::string& out, const std::string& text) {
  out += nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

void append_json(std::string& out, const nlohmann::ordered_json& value) {
  bool is_first = true;
  const auto separate = [&] {
    if (!is_first) out += ", ";
    is_first = false;
  };
  if (value.is_object()) {
    out += '{';
    for (const auto& [key, item] : value.items()) {
      separate();
      append_json_text(out, key);
      out += ": ";
      append_json(out, item);
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    for (const nlohmann::ordered_json& item : value) {
      separate();
      append_json(out, item);
    }
    out += ']';
  } else if (value.is_number_float()) {
    const double number = value.get<double>();
    out += std::isfinite(number) ? python_float(number)
           : std::isnan(number)  ? "NaN"
           : number > 0          ? "Infinity"
                                 : "-Infinity";
  } else if (value.is_string()) {
    append_json_text(out, value.get<std::string>());
  } else {
    out += value.dump();
  }
}

}  // namespace

std::string python_float(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 64> buffer{};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific).ptr;
  std::string text(buffer.data(), end);  // d.ddde-05
  const size_t mark = text.find('e');
  const int exponent = std::stoi(text.substr(mark + 1));
  if (exponent < -4 || exponent >= 16) return text;
  std::string digits = text.substr(0, mark);
  const std::string sign = digits.front() == '-' ? "-" : "";
  std::erase_if(digits, [](char c) { return c == '.' || c == '-'; });
  if (exponent < 0) return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string python_str(const schema::Value& value) {
  struct Printer {
    std::string operator()(std::monostate) const { return "None"; }
    std::string operator()(bool flag) const { return flag ? "True" : "False"; }
    std::string operator()(int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const { return python_float(number); }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(const std::vector<std::string>& texts) const { return "[" + joined(texts, quoted) + "]"; }
    std::string operator()(const std::vector<double>& numbers) const {
      return "[" + joined(numbers, python_float) + "]";
    }
  };
  return std::visit(Printer{}, value);
}

std::string python_literal(const std::string& text) {
  const std::string plain = base::trimmed(text);
  for (const char mark : {'\'', '"'}) {
    if (is_wrapped(plain, mark, mark)) return plain.substr(1, plain.size() - 2);
  }
  return literal_repr(plain);
}

std::string python_json(const nlohmann::ordered_json& value) {
  std::string out;
  append_json(out, value);
  return out;
}

}  // namespace cinnabar::adapters
