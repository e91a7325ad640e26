#include <algorithm>
#include <map>
#include <sstream>

#include "cinnabar/lr/schedule.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::lr {

namespace {

[[noreturn]] void fail(const std::string& rules, const std::string& part) {
  throw base::Error(
      base::ErrorCode::Config,
      "lr_scheduler_args: step_rules = \"" + rules + "\": \"" + part +
          "\": expected FACTOR:STEP pairs and a last FACTOR, for example \"1:10,0.1:20,0.005\" (1 before step "
          "10, 0.1 before step 20, then 0.005)");
}

Schedule make_piecewise_constant(const ScheduleRequest& request) {
  const std::string rules = request.arguments.maybe_text("step_rules").value_or("");
  std::map<int64_t, double> before;  // factor of the steps below the key
  std::optional<double> last;
  std::istringstream parts(rules);
  for (std::string part; std::getline(parts, part, ',');) {
    if (last) fail(rules, part);  // something follows the last factor
    const size_t colon = part.find(':');
    const auto factor = schema::parse_number(part.substr(0, colon));
    if (!factor) fail(rules, part);
    if (colon == std::string::npos) {
      last = factor;
      continue;
    }
    const auto limit = schema::parse_integer(part.substr(colon + 1));
    if (!limit || *limit < 0) fail(rules, part);
    if (!before.empty() && *limit <= before.rbegin()->first)
      fail(rules, part + "\" does not come after \"" + std::to_string(before.rbegin()->first));
    before[*limit] = *factor;
  }
  if (!last) fail(rules, rules);
  return [before, last](int64_t step) {
    const auto rule = before.upper_bound(step);
    return rule == before.end() ? *last : rule->second;
  };
}

}  // namespace

CINNABAR_REGISTER_SCHEDULE(
    piecewise_constant,
    {.help = "Steps of constant factors, given by step_rules in lr_scheduler_args.",
     .options = {{.name = "step_rules",
                  .type = schema::Type::Text,
                  .group = "Learning rate",
                  .level = schema::Level::Expert,
                  .label = "Step rules",
                  .help = "Pairs FACTOR:STEP and a last FACTOR: \"1:10,0.1:20,0.005\" is 1 before step "
                          "10, 0.1 before step 20, then 0.005."}},
     .make = make_piecewise_constant});

}  // namespace cinnabar::lr
