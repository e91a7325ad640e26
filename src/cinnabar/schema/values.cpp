#include "cinnabar/schema/values.h"

namespace cinnabar::schema {

namespace {

[[noreturn]] void wrong_type(const std::string& name) {
  throw base::Error(base::ErrorCode::Internal,
                    "internal error: option " + name + " is unset or has another type than its reader expects");
}

template <class T>
const T& typed(const Values& values, const std::string& name) {
  const T* value = std::get_if<T>(&values.raw(name));
  if (value == nullptr) wrong_type(name);
  return *value;
}

}  // namespace

bool Values::has(const std::string& name) const { return raw(name).index() != 0; }

const Value& Values::raw(const std::string& name) const {
  static const Value kUnset;
  const auto found = values_.find(name);
  return found == values_.end() ? kUnset : found->second;
}

bool Values::flag(const std::string& name) const { return has(name) && typed<bool>(*this, name); }

int64_t Values::integer(const std::string& name) const { return typed<int64_t>(*this, name); }

double Values::number(const std::string& name) const {
  if (const int64_t* whole = std::get_if<int64_t>(&raw(name))) return static_cast<double>(*whole);
  const auto* list = std::get_if<std::vector<double>>(&raw(name));
  if (list != nullptr && !list->empty()) return list->front();
  return typed<double>(*this, name);
}

std::string Values::text(const std::string& name) const { return typed<std::string>(*this, name); }

std::vector<std::string> Values::texts(const std::string& name) const {
  return has(name) ? typed<std::vector<std::string>>(*this, name) : std::vector<std::string>{};
}

std::optional<int64_t> Values::maybe_integer(const std::string& name) const {
  return has(name) ? std::optional(integer(name)) : std::nullopt;
}

std::optional<double> Values::maybe_number(const std::string& name) const {
  return has(name) ? std::optional(number(name)) : std::nullopt;
}

std::optional<std::string> Values::maybe_text(const std::string& name) const {
  return has(name) ? std::optional(text(name)) : std::nullopt;
}

std::vector<double> Values::numbers(const std::string& name) const {
  return has(name) ? typed<std::vector<double>>(*this, name) : std::vector<double>{};
}

std::pair<int64_t, int64_t> Values::size(const std::string& name) const {
  const std::string text = typed<std::string>(*this, name);
  const size_t comma = text.find(',');
  if (comma == std::string::npos) wrong_type(name);
  return {std::stoll(text.substr(0, comma)), std::stoll(text.substr(comma + 1))};
}

int64_t Values::steps(const std::string& name, int64_t total) const {
  if (!has(name)) return 0;
  if (const int64_t* count = std::get_if<int64_t>(&raw(name))) return *count;
  return static_cast<int64_t>(typed<double>(*this, name) * static_cast<double>(total));
}

}  // namespace cinnabar::schema
