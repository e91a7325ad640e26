// Numbers of things in messages.
#pragma once

#include <concepts>
#include <string>

namespace cinnabar::base {

// "1 picture", "2 pictures", "0 batches". `thing` forms its plural with s, or with es after tch.
std::string counted(std::integral auto count, const std::string& thing) {
  const std::string ending = count == 1 ? "" : thing.ends_with("tch") ? "es" : "s";
  return std::to_string(count) + " " + thing + ending;
}

}  // namespace cinnabar::base
