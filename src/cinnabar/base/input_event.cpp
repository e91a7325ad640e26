#include "cinnabar/base/input_event.h"

namespace cinnabar::base {

void tell_input(EventSink& events, const InputFact& input) {
  std::map<std::string, EventValue> fields = {
      {"kind", input.kind}, {"path", input.path.string()}, {"sha256", input.sha256}};
  if (!input.text.empty()) fields["text"] = input.text;
  // The fields of a result are free, and one of that name is the event's type.
  fields["type"] = std::string("input");
  events.result(fields);
}

}  // namespace cinnabar::base
