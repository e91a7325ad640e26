#include "cinnabar/text/html_entities.h"

#include <algorithm>
#include <vector>

namespace cinnabar::text {
namespace {

constexpr std::string_view kTable =
#include "cinnabar/text/html_entity_table.inc"
    ;

struct Entity {
  std::string_view name;
  std::string_view text;
};

std::vector<Entity> split_table() {
  std::vector<Entity> entities;
  for (size_t at = 0; at < kTable.size();) {
    const size_t space = kTable.find(' ', at);
    // The text has one byte at least, which may itself be a newline.
    const size_t end = kTable.find('\n', space + 2);
    entities.push_back({kTable.substr(at, space - at), kTable.substr(space + 1, end - space - 1)});
    at = end + 1;
  }
  return entities;
}

}  // namespace

std::string_view html_entity(std::string_view name) {
  static const std::vector<Entity> entities = split_table();
  const auto found = std::ranges::lower_bound(entities, name, {}, &Entity::name);
  return found != entities.end() && found->name == name ? found->text : std::string_view{};
}

}  // namespace cinnabar::text
