#include <cmath>
#include <numbers>
#include <vector>

#include "cinnabar/lr/class_rows.h"
#include "cinnabar/lr/schedule.h"

namespace cinnabar::lr {

namespace {

// One phase: ends at step `end`, between two rates.
struct Phase {
  double end;
  double from;
  double to;
};

int64_t length_of(const schema::Values& arguments, int64_t total_steps) {
  if (const auto total = arguments.maybe_integer("total_steps")) return *total;
  const auto epochs = arguments.maybe_integer("epochs");
  const auto steps = arguments.maybe_integer("steps_per_epoch");
  return epochs && steps ? *epochs * *steps : total_steps;
}

// Smith and Topin 2018, "Super-convergence": up from max_lr / div_factor, down to start / final_div_factor. The rates
// are absolute: base rates are not used.
Rates make_one_cycle_lr(const ScheduleRequest& request) {
  const schema::Values& arguments = request.arguments;
  if (arguments.flag("cycle_momentum")) {
    throw base::Error(
        base::ErrorCode::Config,
        "lr_scheduler_args: cycle_momentum=True: changing the momentum of the optimizer is not supported; "
        "OneCycleLR changes the rate alone here");
  }
  const double highest = needed_amount(arguments, "OneCycleLR", "max_lr");
  const double start = highest / arguments.number("div_factor");
  const double lowest = start / arguments.number("final_div_factor");
  const auto length = static_cast<double>(length_of(arguments, request.total_steps));
  const double up = arguments.number("pct_start") * length;
  std::vector<Phase> phases = {{up - 1.0, start, highest}, {length - 1.0, highest, lowest}};
  if (arguments.flag("three_phase")) {
    phases = {{up - 1.0, start, highest}, {2.0 * up - 2.0, highest, start}, {length - 1.0, start, lowest}};
  }
  const bool is_linear = arguments.text("anneal_strategy") == "linear";
  return [phases, is_linear, length](int64_t step, double /*base_rate*/) {
    double begin = 0.0;
    const auto place = static_cast<double>(step);
    for (const Phase& phase : phases) {
      // The reference goes one step past the last phase before it ends.
      const bool is_just_past = phase.end == length - 1.0 && place == length;
      if (place <= phase.end || is_just_past) {
        const double share = phase.end > begin ? (place - begin) / (phase.end - begin) : 1.0;
        if (is_linear) return phase.from + (phase.to - phase.from) * share;
        return phase.to + (phase.from - phase.to) / 2.0 * (1.0 + std::cos(std::numbers::pi * share));
      }
      begin = phase.end;
    }
    return phases.back().to;
  };
}

schema::Option plain_flag(RowText text) {
  return {.name = text.name,
          .type = schema::Type::Flag,
          .fallback = false,
          .group = "Learning rate",
          .level = schema::Level::Expert,
          .label = text.label,
          .help = text.help};
}

}  // namespace

CINNABAR_REGISTER_SCHEDULE(
    OneCycleLR,
    {.help = "Rises to max_lr and falls far below the start, once; learning_rate is not used.",
     .options = {amount_row({"max_lr", "Highest rate", "The rate at the top."}, {}),
                 step_count_row({"total_steps", "Length", "Steps of the cycle; the default is the length of the run."},
                                {}),
                 step_count_row({"epochs", "Epochs", "Length, together with steps_per_epoch."}, {}),
                 step_count_row({"steps_per_epoch", "Steps an epoch", "Length, together with epochs."}, {}),
                 amount_row({"pct_start", "Rising share", "Share of the steps that rise."}, 0.3, {0.0, 1.0}),
                 {.name = "anneal_strategy",
                  .type = schema::Type::Text,
                  .fallback = "cos",
                  .choices = {"cos", "linear"},
                  .group = "Learning rate",
                  .level = schema::Level::Expert,
                  .label = "Shape",
                  .help = "Along half a cosine, or evenly."},
                 amount_row({"div_factor", "First divisor", "The first rate is max_lr divided by it."}, 25.0,
                            {1e-30, 1e30}),
                 amount_row({"final_div_factor", "Last divisor", "The last rate is the first one divided by it."}, 1e4,
                            {1e-30, 1e30}),
                 plain_flag({"three_phase", "Three phases", "Falls as long as it rose, and then to the last rate."}),
                 plain_flag({"cycle_momentum", "Cycle the momentum", "Not supported: the rate alone changes."})},
     .make_rates = make_one_cycle_lr,
     .module = kTorchModule});

}  // namespace cinnabar::lr
