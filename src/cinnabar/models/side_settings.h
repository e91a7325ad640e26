// Settings of a model that its tensors do not tell: from a NAME.json beside it or a diffusers folder's configurations.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::models {

class SideSettings {
 public:
  // `json`: Checkpoint::side_json(), may be empty. Throws Error{Format} when it is not a JSON object.
  SideSettings(const std::string& json, std::string file);
  ~SideSettings();
  SideSettings(SideSettings&&) noexcept;

  // Each takes dotted names ("unet.num_heads") and gives the first that is there and not null. A value of another type
  // is Error{Format}.
  std::optional<int64_t> integer(const std::vector<std::string>& names) const;
  std::optional<double> number(const std::vector<std::string>& names) const;
  std::optional<std::string> text(const std::vector<std::string>& names) const;
  std::optional<bool> flag(const std::vector<std::string>& names) const;
  // What is not read from a NAME.json beside a model, in words for the user; "" when everything is. Of a folder's
  // configurations, which are diffusers' own, nothing is said.
  std::string unused_text() const;

  // A list of whole numbers, or a single one as a list of one.
  std::optional<std::vector<int64_t>> integers(const std::vector<std::string>& names) const;

 private:
  struct Tree;
  std::string file_;
  std::unique_ptr<Tree> tree_;
};

}  // namespace cinnabar::models
