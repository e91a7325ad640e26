#include "cinnabar/schema/toml_limits.h"

#include <algorithm>
#include <vector>

#include "cinnabar/base/error.h"
#include "cinnabar/base/utf8.h"

namespace cinnabar::schema {

namespace {

// Reads the text as far as its structure: strings and comments are stepped over as the grammar has them (TOML 1.0), so
// that a bracket in one neither counts nor makes up for another.
class Scan {
 public:
  Scan(std::string_view text, const std::string& name, const TomlLimits& limits)
      : text_(text), name_(name), limits_(limits) {}

  void run() {
    while (at_ < text_.size()) step();
  }

 private:
  struct Level {
    bool is_list = false;
    size_t dots = 0;  // of the key in front of the bracket
  };

  [[noreturn]] void refuse(const std::string& what) const {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    throw base::Error(base::ErrorCode::Config, name_ + ":" + std::to_string(line) + ": " + what);
  }

  void step() {
    const char c = text_[at_];
    if (expects_name_) check_name(c);
    if (c == '"' || c == '\'') {
      begin_token("a quotation mark");
      return skip_string(c);
    }
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return;
    }
    ++at_;
    switch (c) {
      case '\n':
        has_token_ = false;
        return end_line();
      case '[':
      case '{':
        begin_token("a bracket");
        has_token_ = false;
        return open(c == '[');
      case ']':
      case '}':
        has_token_ = true;
        return close();
      case ',':
        if (++values_ > limits_.values) refuse("more than " + std::to_string(limits_.values) + " values");
        has_token_ = false;
        return begin_item();
      case '=':
        if (is_value_) refuse("not valid TOML: \"=\" inside of a value; texts with one stand between \" and \"");
        has_token_ = false;
        if (++keys_ > limits_.keys) refuse("more than " + std::to_string(limits_.keys) + " keys");
        is_value_ = true;
        part_bytes_ = 0;
        return;
      case '.':
        if (is_value_) return;  // of a number
        has_token_ = false;
        part_bytes_ = 0;
        ++dots_;
        return check_depth();
      case ' ':
      case '\t':
      case '\r':
        return;
      default:
        if (is_byte_order_mark()) return;
        if (static_cast<unsigned char>(c) >= 0x80) refuse_outside_ascii();
        has_token_ = true;
        return count_key_bytes(1);
    }
  }

  // Where a name or a value may begin. In the middle of one the parser reads on, over quotation marks and brackets, and
  // so over what this scan takes for the inside of a text.
  void begin_token(const std::string& what) {
    if (has_token_)
      refuse("not valid TOML: " + what + " in the middle of a name or value; texts stand between \" and \"");
    has_token_ = true;
  }

  // At the start of the file alone; `at_` is behind the current byte.
  bool is_byte_order_mark() const { return at_ <= 3 && text_.starts_with("\xEF\xBB\xBF"); }

  // TOML 1.0 has no such character outside of texts and comments, and some of them lead the parser, which has an eye on
  // later versions, to a place that it takes for unreachable.
  [[noreturn]] void refuse_outside_ascii() const {
    const std::string_view rest = text_.substr(at_ - 1);
    const std::string_view shown = rest.substr(0, character_bytes(rest));
    if (base::find_invalid_utf8(shown)) refuse("not valid TOML: the file is not UTF-8; save it as UTF-8");
    const std::string which = "\"" + base::shown_text(shown, 8) + "\"";
    for (const std::string_view quote :
         {"\u201c", "\u201d", "\u201e", "\u2018", "\u2019", "\u00ab", "\u00bb", "\uff02"}) {
      if (shown == quote) refuse("not valid TOML: " + which + " is no quotation mark of TOML; write \" or '");
    }
    for (const std::string_view space :
         {"\u00a0", "\u2002", "\u2003", "\u2009", "\u200b", "\u202f", "\u3000", "\ufeff"}) {
      if (shown == space) refuse("not valid TOML: a special space stands outside of a text; write a plain one");
    }
    refuse("not valid TOML: " + which +
           " stands outside of a text; put texts, and keys with such characters, between \" and \"");
  }

  // By its first byte; no more than there are.
  static size_t character_bytes(std::string_view text) {
    const auto first = static_cast<unsigned char>(text.front());
    const size_t count = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
    return std::min(count, text.size());
  }

  // The first character behind the bracket of a header, where some versions of the parser take any.
  void check_name(char c) {
    if (c == ' ' || c == '\t' || c == '[') return;
    expects_name_ = false;
    const bool is_name = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                         c == '-' || c == '"' || c == '\'' || c == ']';
    if (!is_name) refuse("not valid TOML: expected the name of a table behind \"[\"");
  }

  void skip_string(char quote) {
    const size_t start = at_;
    const std::string three(3, quote);
    const bool is_long = text_.substr(at_).starts_with(three);
    at_ += is_long ? 3 : 1;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (quote == '"' && c == '\\') {
        at_ += 2;
      } else if (is_long ? text_.substr(at_).starts_with(three) : c == quote) {
        at_ += is_long ? 3 : 1;
        // Up to two quotes may stand before the three that end a long string.
        for (int i = 0; is_long && i < 2 && at_ < text_.size() && text_[at_] == quote; ++i) ++at_;
        break;
      } else if (!is_long && c == '\n') {
        break;  // not valid; the parser stops here
      } else {
        ++at_;
      }
    }
    at_ = std::min(at_, text_.size());
    count_key_bytes(at_ - start);
  }

  void count_key_bytes(size_t count) {
    if (is_value_) return;
    part_bytes_ += count;
    if (part_bytes_ > limits_.key_bytes) {
      refuse("a key of more than " + std::to_string(limits_.key_bytes) + " bytes");
    }
  }

  void end_line() {
    if (!levels_.empty()) return;  // a list goes on
    if (is_header_) header_dots_ = dots_ + 1;
    is_header_ = false;
    header_brackets_ = 0;
    begin_item();
  }

  void begin_item() {
    dots_ = 0;
    part_bytes_ = 0;
    is_value_ = !levels_.empty() && levels_.back().is_list;
  }

  void open(bool is_list) {
    const bool begins_header = is_list && levels_.empty() && !is_value_;
    if (begins_header) {
      if (++header_brackets_ > 2) refuse("not valid TOML: expected the name of a table behind \"[\"");
      is_header_ = true;
      expects_name_ = true;
      header_dots_ = 0;
      return;
    }
    levels_.push_back({is_list, dots_});
    outer_dots_ += dots_;
    begin_item();
    check_depth();
  }

  void close() {
    if (levels_.empty()) return;
    outer_dots_ -= levels_.back().dots;
    dots_ = levels_.back().dots;
    levels_.pop_back();
    is_value_ = true;
  }

  void check_depth() const {
    if (header_dots_ + outer_dots_ + levels_.size() + dots_ <= limits_.depth) return;
    refuse("lists or tables nest deeper than " + std::to_string(limits_.depth) + " levels; configurations are flat");
  }

  std::string_view text_;
  const std::string& name_;
  const TomlLimits& limits_;
  size_t at_ = 0;
  size_t keys_ = 0;
  size_t values_ = 0;
  size_t part_bytes_ = 0;  // of the part of a key that is being read
  size_t dots_ = 0;        // in the key that is being read, or whose value is
  size_t header_dots_ = 0;
  size_t outer_dots_ = 0;  // of the keys in front of open brackets
  size_t header_brackets_ = 0;
  bool is_header_ = false;
  bool expects_name_ = false;
  bool is_value_ = false;
  // A name, text, number or closed bracket since the last "=", comma, dot of a key, open bracket or end of a line.
  bool has_token_ = false;
  std::vector<Level> levels_;
};

}  // namespace

bool looks_like_json(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\xEF\xBB\xBF";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos || text[first] == '{') return first != std::string_view::npos;
  if (text[first] != '[') return false;
  const size_t second = text.find_first_not_of(kBlank, first + 1);
  return second != std::string_view::npos && text[second] == '{';
}

void check_toml(std::string_view text, const std::string& name, const TomlLimits& limits) {
  if (looks_like_json(text)) {
    throw base::Error(base::ErrorCode::Config,
                      name + ": not valid TOML: the text is JSON" +
                          (text.find('[') < text.find('{') ? ", a list of tables; here one table is expected" : ""));
  }
  Scan(text, name, limits).run();
}

}  // namespace cinnabar::schema
