// Fields of state.json read by name, so that a damaged or foreign one says which field is wrong.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace cinnabar::train {

// An object of the file. Everything throws Error{Format} with the file, the field, what was found and what was
// expected.
class StateFields {
 public:
  // `json` must outlive this.
  StateFields(const nlohmann::json& json, std::filesystem::path file, std::string prefix = {});

  StateFields below(const std::string& name) const;
  const nlohmann::json& list(const std::string& name) const;
  // From 0 to 10^12, beyond what any run counts to.
  int64_t count(const std::string& name) const;
  uint64_t whole(const std::string& name) const;
  double number(const std::string& name) const;
  std::string text(const std::string& name) const;
  std::map<std::string, std::string> texts(const std::string& name) const;
  std::map<std::string, int64_t> counts(const std::string& name) const;

  // Of an entry of a list or table: `name` says which.
  int64_t count_of(const nlohmann::json& value, const std::string& name) const;
  // Null stands for NaN, of which JSON has no word.
  double number_of(const nlohmann::json& value, const std::string& name) const;
  [[noreturn]] void refuse(const std::string& name, const nlohmann::json& found, const std::string& expected) const;

 private:
  const nlohmann::json& at(const std::string& name) const;

  const nlohmann::json& json_;
  std::filesystem::path file_;
  std::string prefix_;
};

}  // namespace cinnabar::train
