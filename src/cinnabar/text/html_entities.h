// The named character references of HTML5 (WHATWG, entities.json).
#pragma once

#include <string_view>

namespace cinnabar::text {

// UTF-8 text of the entity `name` (without "&" and ";"), empty when there is none. Also knows the upper-case spelling
// of every all-lower-case name where HTML gives it no meaning of its own ("EACUTE" is the capital of "eacute"), as ftfy
// does.
std::string_view html_entity(std::string_view name);

}  // namespace cinnabar::text
