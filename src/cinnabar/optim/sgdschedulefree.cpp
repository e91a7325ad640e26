#include "cinnabar/optim/arguments.h"
#include "cinnabar/optim/entry.h"
#include "cinnabar/optim/run_rules.h"

namespace cinnabar::optim {

// Defazio et al. 2024, "The road less scheduled"; numbers as schedulefree.SGDScheduleFree.
CINNABAR_REGISTER_OPTIMIZER(
    sgdschedulefree, {.label = "SGDScheduleFree",
                      .help = "Plain gradient steps whose mean is kept instead of following a schedule.",
                      .options = {number_row({"momentum", "Momentum", "How near to the mean the gradients are taken."},
                                             0.9, {1e-6, 0.999999}),
                                  weight_decay_row(0.0), own_warmup_row(), averaging_row(), averaging_power_row()},
                      .reference_class = "schedulefree.sgd_schedulefree.SGDScheduleFree",
                      .aliases = {"schedulefree.SGDScheduleFree"},
                      .rules = take_constant_schedule});

}  // namespace cinnabar::optim

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include "cinnabar/optim/schedule_free.h"

namespace cinnabar::optim {

namespace {

class SGDScheduleFree final : public ScheduleFree {
 public:
  SGDScheduleFree(FlatParameters& parameters, const schema::Values& values)
      : ScheduleFree(parameters, settings_of(values), /*has_squares=*/false) {}

 private:
  static Settings settings_of(const schema::Values& values) {
    Settings settings = read_settings(values);
    settings.interpolation = values.number("momentum");
    return settings;
  }

  at::Tensor direction(const at::Tensor& gradients, const at::Tensor& /*squares*/, double /*step*/) const override {
    return gradients;
  }
};

}  // namespace

CINNABAR_REGISTER_OPTIMIZER_FACTORY(sgdschedulefree, [](FlatParameters& parameters, const schema::Values& values) {
  return std::make_unique<SGDScheduleFree>(parameters, values);
});

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
