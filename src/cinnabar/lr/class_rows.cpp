#include "cinnabar/lr/class_rows.h"

#include <utility>

#include "cinnabar/base/error.h"

namespace cinnabar::lr {

namespace {

schema::Option plain_row(RowText text, schema::Type type) {
  schema::Option row{
      .name = std::move(text.name), .type = type, .group = "Learning rate", .level = schema::Level::Expert};
  row.label = std::move(text.label);
  row.help = std::move(text.help);
  return row;
}

[[noreturn]] void fail_missing(const std::string& schedule, const std::string& name) {
  throw base::Error(base::ErrorCode::Config, "lr_scheduler_type " + schedule + " needs " + name +
                                                 ": give it in lr_scheduler_args, for example " + name + "=100");
}

}  // namespace

schema::Option step_count_row(RowText text, std::optional<int64_t> fallback) {
  schema::Option row = plain_row(std::move(text), schema::Type::Int);
  if (fallback) row.fallback = *fallback;
  row.range = schema::Range{1, 1e15};
  return row;
}

schema::Option amount_row(RowText text, std::optional<double> fallback, schema::Range range) {
  schema::Option row = plain_row(std::move(text), schema::Type::Float);
  if (fallback) row.fallback = *fallback;
  row.range = range;
  return row;
}

int64_t needed_count(const schema::Values& arguments, const std::string& schedule, const std::string& name) {
  if (const auto value = arguments.maybe_integer(name)) return *value;
  fail_missing(schedule, name);
}

double needed_amount(const schema::Values& arguments, const std::string& schedule, const std::string& name) {
  if (const auto value = arguments.maybe_number(name)) return *value;
  fail_missing(schedule, name);
}

}  // namespace cinnabar::lr
