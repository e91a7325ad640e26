#include "cinnabar/jobs/command_schemas.h"

#include "cinnabar/schema/option_groups.h"

#ifdef CINNABAR_HAS_ADAPTERS
#include "cinnabar/adapters/registry.h"
#endif
#ifdef CINNABAR_HAS_OPTIM
#include "cinnabar/optim/entry.h"
#endif
#ifdef CINNABAR_HAS_LR
#include "cinnabar/lr/schedule.h"
#endif
#ifdef CINNABAR_HAS_LOSS
#include "cinnabar/loss/entry.h"
#endif
#ifdef CINNABAR_HAS_NOISE
#include "cinnabar/noise/entry.h"
#endif
#ifdef CINNABAR_HAS_SAMPLERS
#include "cinnabar/samplers/entry.h"
#endif

namespace cinnabar::jobs {

namespace {

// Any registry whose entries have `help` and `options`.
template <class Registry>
schema::EntryTable table_of(const Registry& registry, schema::EntryTable table) {
  for (const std::string& name : registry.names()) {
    const auto& entry = registry.at(name);
    table.entries.push_back({.name = name, .help = entry.help, .options = entry.options});
  }
  return table;
}

void add_training_tables([[maybe_unused]] schema::Schema& schema) {
#ifdef CINNABAR_HAS_ADAPTERS
  schema.add(table_of(adapters::adapter_descriptions(),
                      {.kind = "method", .selector = "network_module", .arguments = "network_args"}));
#endif
#ifdef CINNABAR_HAS_OPTIM
  schema::EntryTable optimizers = table_of(
      optim::entries(),
      {.kind = "optimizer", .selector = "optimizer_type", .arguments = "optimizer_args", .ignores_case = true});
  for (schema::Entry& entry : optimizers.entries) {
    const optim::Entry& description = optim::entries().at(entry.name);
    entry.name = description.label;
    entry.aliases = description.aliases;
  }
  schema.add(optimizers);
#endif
#ifdef CINNABAR_HAS_LR
  schema::EntryTable schedules = table_of(lr::entries(), {.kind = "schedule",
                                                          .selector = "lr_scheduler",
                                                          .arguments = "lr_scheduler_args",
                                                          .arguments_unless = "lr_scheduler_type"});
  schema::EntryTable classes = table_of(
      lr::entries(), {.kind = "schedule class", .selector = "lr_scheduler_type", .arguments = "lr_scheduler_args"});
  std::erase_if(schedules.entries,
                [](const schema::Entry& entry) { return !lr::entries().at(entry.name).module.empty(); });
  std::erase_if(classes.entries,
                [](const schema::Entry& entry) { return lr::entries().at(entry.name).module.empty(); });
  for (schema::Entry& entry : classes.entries) {
    entry.aliases = {lr::entries().at(entry.name).module + "." + entry.name};
  }
  schema.add(schedules);
  schema.add(classes);
#endif
#ifdef CINNABAR_HAS_LOSS
  schema.add(table_of(loss::entries(), {.kind = "loss", .selector = "loss_type"}));
  schema.add(table_of(loss::weight_entries(), {.kind = "loss weight"}));
#endif
#ifdef CINNABAR_HAS_NOISE
  schema.add(table_of(noise::entries(), {.kind = "noise"}));
#endif
}

void add_sampler_table([[maybe_unused]] schema::Schema& schema) {
#ifdef CINNABAR_HAS_SAMPLERS
  schema.add(table_of(samplers::entries(), {.kind = "sampler", .selector = "sample_sampler"}));
#endif
}

}  // namespace

schema::Schema train_schema() {
  schema::Schema schema = schema::train_schema();
  add_training_tables(schema);
  add_sampler_table(schema);
  return schema;
}

schema::Schema sample_schema() {
  schema::Schema schema = schema::sample_schema();
  add_sampler_table(schema);
  return schema;
}

schema::Schema cache_schema() { return schema::cache_schema(); }

}  // namespace cinnabar::jobs
