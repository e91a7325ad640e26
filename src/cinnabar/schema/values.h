// Option values by name, as validation leaves them: the right type, or unset.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cinnabar/base/error.h"
#include "cinnabar/schema/option.h"

namespace cinnabar::schema {

class Values {
 public:
  void set(const std::string& name, Value value) { values_[name] = std::move(value); }
  // Unset (monostate) and absent names are the same.
  bool has(const std::string& name) const;
  const Value& raw(const std::string& name) const;
  const std::map<std::string, Value>& all() const { return values_; }

  // For a missing value or another type: Error{Internal}, since validation has run before. Ints are given as floats,
  // too.
  bool flag(const std::string& name) const;  // absent: false
  int64_t integer(const std::string& name) const;
  double number(const std::string& name) const;  // of a list: its first
  std::string text(const std::string& name) const;
  std::vector<std::string> texts(const std::string& name) const;  // absent: empty
  std::optional<int64_t> maybe_integer(const std::string& name) const;
  std::optional<double> maybe_number(const std::string& name) const;
  std::optional<std::string> maybe_text(const std::string& name) const;
  std::vector<double> numbers(const std::string& name) const;  // absent: empty
  // Type::Size: {width, height} in pixels.
  std::pair<int64_t, int64_t> size(const std::string& name) const;
  // Type::Steps as a count: a share is taken of `total` (rounded down), a count as it is; absent: 0.
  int64_t steps(const std::string& name, int64_t total) const;

 private:
  std::map<std::string, Value> values_;
};

}  // namespace cinnabar::schema
