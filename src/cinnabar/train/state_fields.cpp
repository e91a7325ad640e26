#include "cinnabar/train/state_fields.h"

#include <limits>

#include "cinnabar/base/error.h"

namespace cinnabar::train {

namespace {

using Json = nlohmann::json;

constexpr uint64_t kMostCounted = 1'000'000'000'000;
constexpr size_t kShownBytes = 80;

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kShownBytes) text = text.substr(0, kShownBytes) + "...";
  return text;
}

}  // namespace

StateFields::StateFields(const Json& json, std::filesystem::path file, std::string prefix)
    : json_(json), file_(std::move(file)), prefix_(std::move(prefix)) {
  if (json_.is_object()) return;
  throw base::Error(base::ErrorCode::Format, file_.string() + ": " + (prefix_.empty() ? "the content" : prefix_) +
                                                 " is " + shown(json_) +
                                                 ", expected an object: resume from the state before");
}

void StateFields::refuse(const std::string& name, const Json& found, const std::string& expected) const {
  throw base::Error(base::ErrorCode::Format, file_.string() + ": " + (prefix_.empty() ? "" : prefix_ + ".") + name +
                                                 " = " + shown(found) + ", expected " + expected +
                                                 ": the state is damaged; resume from the one before");
}

const Json& StateFields::at(const std::string& name) const {
  const auto found = json_.find(name);
  if (found != json_.end()) return *found;
  throw base::Error(base::ErrorCode::Format, file_.string() + ": the field " + (prefix_.empty() ? "" : prefix_ + ".") +
                                                 name +
                                                 " is missing: the state is damaged; resume from the one before");
}

StateFields StateFields::below(const std::string& name) const {
  return {at(name), file_, prefix_.empty() ? name : prefix_ + "." + name};
}

const Json& StateFields::list(const std::string& name) const {
  const Json& value = at(name);
  if (!value.is_array()) refuse(name, value, "a list");
  return value;
}

int64_t StateFields::count_of(const Json& value, const std::string& name) const {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > kMostCounted)
    refuse(name, value, "a whole number from 0 to 10^12");
  return value.get<int64_t>();
}

double StateFields::number_of(const Json& value, const std::string& name) const {
  if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!value.is_number()) refuse(name, value, "a number");
  return value.get<double>();
}

int64_t StateFields::count(const std::string& name) const { return count_of(at(name), name); }

uint64_t StateFields::whole(const std::string& name) const {
  const Json& value = at(name);
  if (!value.is_number_unsigned()) refuse(name, value, "a whole number of 0 or more");
  return value.get<uint64_t>();
}

double StateFields::number(const std::string& name) const { return number_of(at(name), name); }

std::string StateFields::text(const std::string& name) const {
  const Json& value = at(name);
  if (!value.is_string()) refuse(name, value, "a text");
  return value.get<std::string>();
}

std::map<std::string, std::string> StateFields::texts(const std::string& name) const {
  const Json& table = at(name);
  if (!table.is_object()) refuse(name, table, "an object of texts");
  std::map<std::string, std::string> result;
  for (const auto& [key, value] : table.items()) {
    if (!value.is_string()) refuse(name + "." + key, value, "a text");
    result.emplace(key, value.get<std::string>());
  }
  return result;
}

std::map<std::string, int64_t> StateFields::counts(const std::string& name) const {
  const Json& table = at(name);
  if (!table.is_object()) refuse(name, table, "an object of step numbers");
  std::map<std::string, int64_t> result;
  for (const auto& [key, value] : table.items()) result.emplace(key, count_of(value, name + "." + key));
  return result;
}

}  // namespace cinnabar::train
