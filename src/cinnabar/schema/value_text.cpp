#include "cinnabar/schema/value_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cinnabar/base/trimmed.h"

namespace cinnabar::schema {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::trimmed;

Result<Value> parse_flag(const Option& option, std::string_view text) {
  if (text == "true" || text == "True" || text == "1" || text == "yes") return Value(true);
  if (text == "false" || text == "False" || text == "0" || text == "no") return Value(false);
  return expected(option);
}

// sd-scripts: whole numbers are steps, numbers below 1 and percentages are shares.
Result<Value> parse_steps(const Option& option, std::string_view text) {
  if (const auto count = parse_integer(text)) {
    if (*count < 0) return expected(option);
    return Value(*count);
  }
  const bool is_percentage = text.ends_with('%');
  const auto number = parse_number(is_percentage ? text.substr(0, text.size() - 1) : text);
  if (!number) return expected(option);
  const double share = is_percentage ? *number / 100.0 : *number;
  if (share < 0.0 || share > 1.0 || (!is_percentage && share >= 1.0)) return expected(option);
  return Value(share);
}

// Kept as "WIDTH,HEIGHT".
constexpr int64_t kSmallestSide = 8;
constexpr int64_t kLargestSide = 16384;
Result<Value> parse_size(const Option& option, std::string_view text) {
  const size_t mark = text.find_first_of(",x");
  const auto width = parse_integer(trimmed(text.substr(0, mark)));
  const auto height = mark == std::string_view::npos ? width : parse_integer(trimmed(text.substr(mark + 1)));
  if (!width || !height || std::min(*width, *height) < kSmallestSide || std::max(*width, *height) > kLargestSide) {
    return expected(option);
  }
  return Value(std::to_string(*width) + "," + std::to_string(*height));
}

std::string type_text(const Option& option) {
  switch (option.type) {
    case Type::Flag:
      return "true or false";
    case Type::Int:
      return "a whole number";
    case Type::Float:
      return "a number";
    case Type::Text:
      return "a text";
    case Type::Path:
      return "a path";
    case Type::TextList:
      return "one or more texts";
    case Type::FloatList:
      return "one or more numbers";
    case Type::Steps:
      return "a whole number of steps, a share of all steps below 1 (0.1), or a percentage (10%)";
    case Type::Size:
      return "a side in pixels (512) or WIDTH,HEIGHT (512,768), each from 8 to 16384";
  }
  return {};
}

bool is_open(const Option& option) { return option.range && option.range->high >= 1e15; }

// Of a number above an open-ended range, whose bound help does not show.
std::string above_text(const Option& option) {
  if (!is_open(option)) return {};
  return " and at most " + std::to_string(static_cast<int64_t>(std::min(option.range->high, 1e18)));
}

std::string bound_text(const Option& option, double bound) {
  return option.type == Type::Int ? std::to_string(static_cast<int64_t>(bound)) : value_text(bound);
}

std::string join(const std::vector<std::string>& texts) {
  std::string result;
  for (const std::string& text : texts) result += (result.empty() ? "" : ", ") + (text.empty() ? "\"\"" : text);
  return result;
}

}  // namespace

std::optional<int64_t> parse_integer(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

Result<Value> parse_value(const Option& option, std::string_view text) {
  switch (option.type) {
    case Type::Flag:
      return parse_flag(option, text);
    case Type::Int:
      if (const auto value = parse_integer(trimmed(text))) return Value(*value);
      if (const auto number = parse_number(trimmed(text)); number && *number > 1e15 && is_open(option))
        return Error(ErrorCode::Config, "expected " + expected_text(option) + above_text(option));
      return expected(option);
    case Type::Float:
      if (const auto value = parse_number(trimmed(text))) return Value(*value);
      return expected(option);
    case Type::Path:
      if (text.empty() || text.find('\0') != std::string_view::npos) return expected(option);
      return Value(std::string(text));
    case Type::Text:
      return Value(std::string(text));
    case Type::Steps:
      return parse_steps(option, trimmed(text));
    case Type::Size:
      return parse_size(option, trimmed(text));
    case Type::TextList:
    case Type::FloatList:
      return parse_values(option, {std::string(text)});
  }
  return expected(option);
}

Result<Value> parse_values(const Option& option, const std::vector<std::string>& texts) {
  if (option.type == Type::TextList) return Value(texts);
  if (option.type == Type::FloatList) {
    std::vector<double> numbers;
    for (const std::string& text : texts) {
      const auto number = parse_number(trimmed(text));
      if (!number) return expected(option);
      numbers.push_back(*number);
    }
    return Value(numbers);
  }
  if (texts.size() != 1) return expected(option);
  return parse_value(option, texts.front());
}

std::string check_value(const Option& option, const Value& value) {
  const std::string wrong = "expected " + expected_text(option);
  const auto is_outside = [&](double number) {
    return option.range && (number < option.range->low || number > option.range->high);
  };
  if (const auto* whole = std::get_if<int64_t>(&value); whole && is_outside(static_cast<double>(*whole))) {
    return *whole > 0 && option.type == Type::Int ? wrong + above_text(option) : wrong;
  }
  if (const auto* number = std::get_if<double>(&value); number && option.type == Type::Float && is_outside(*number)) {
    return wrong;
  }
  if (const auto* numbers = std::get_if<std::vector<double>>(&value)) {
    if (std::any_of(numbers->begin(), numbers->end(), is_outside)) return wrong;
  }
  if (option.choices.empty() || value.index() == 0) return {};
  const auto is_choice = [&](const std::string& text) {
    return std::find(option.choices.begin(), option.choices.end(), text) != option.choices.end();
  };
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    return std::all_of(texts->begin(), texts->end(), is_choice) ? "" : wrong;
  }
  return is_choice(value_text(value)) ? "" : wrong;
}

std::string expected_text(const Option& option) {
  if (!option.choices.empty()) return "one of " + join(option.choices);
  if (!option.range) return type_text(option);
  const std::string low = bound_text(option, option.range->low);
  // Open-ended ranges are written with a huge upper bound.
  if (option.range->high >= 1e15) return type_text(option) + ", at least " + low;
  return type_text(option) + " from " + low + " to " + bound_text(option, option.range->high);
}

Error expected(const Option& option) { return {ErrorCode::Config, "expected " + expected_text(option)}; }

std::string number_text(double value) {
  char buffer[64];
  // As Python prints numbers: fixed from 1e-4 to below 1e16, shortest digits that read back the same.
  const double size = value < 0 ? -value : value;
  const bool is_fixed = size == 0.0 || (size >= 1e-4 && size < 1e16);
  const auto format = is_fixed ? std::chars_format::fixed : std::chars_format::scientific;
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value, format).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string value_text(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<int64_t>(&value)) return std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&value)) return number_text(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  std::vector<std::string> items;
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) items = *texts;
  if (const auto* numbers = std::get_if<std::vector<double>>(&value)) {
    for (const double number : *numbers) items.push_back(number_text(number));
  }
  return value.index() == 0 ? "" : "[" + join(items) + "]";
}

}  // namespace cinnabar::schema
