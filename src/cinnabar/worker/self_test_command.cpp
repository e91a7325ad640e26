#include "cinnabar/tensor/device.h"
#include "cinnabar/tensor/loaded_libtorch.h"
#include "cinnabar/worker/attention_setup.h"
#include "cinnabar/worker/command.h"
#include "cinnabar/worker/self_test.h"

namespace cinnabar::worker {

namespace {

using Fields = std::map<std::string, base::EventValue>;

// The fields of a result are free, and one of that name is the event's type.
void tell(base::EventSink& events, Fields fields) {
  fields["type"] = std::string("self_test");
  events.result(fields);
}

void tell_row(base::EventSink& events, const hardware::SelfTestRow& row) {
  Fields fields = {{"name", row.name}, {"format", row.type}, {"is_good", row.is_good}};
  if (row.problem.empty()) {
    fields.insert({{"error", row.error}, {"limit", row.limit}, {"first_ms", row.first_ms}, {"ms", row.ms}});
    if (row.gflops) fields["gflops"] = *row.gflops;
  } else {
    fields["problem"] = row.problem;
  }
  tell(events, std::move(fields));
}

int self_test_command(const schema::Values& values, base::EventSink& events, const std::atomic<bool>& stop) {
  const at::Device device = tensor::device_from(values.maybe_text("device").value_or("auto"));
  const std::string chosen = set_up_attention(values, device);
  tell(events, {{"device", device.is_cpu() ? std::string("cpu") : "gpu:" + std::to_string(device.index())},
                {"libtorch", tensor::loaded_libtorch().version.value_or("of unknown version")},
                {"attention", chosen.empty() ? std::string("libtorch's own") : chosen}});
  run_self_test({.device = device,
                 .begin =
                     [&](const std::string& name, const std::string& type) {
                       if (stop) throw base::Error(base::ErrorCode::Cancelled, "the self-test was interrupted");
                       events.phase(name + " " + type);
                     },
                 .end = [&](const hardware::SelfTestRow& row) { tell_row(events, row); }});
  return 0;
}

CINNABAR_REGISTER_WORKER_COMMAND(self_test, {.run = self_test_command});

}  // namespace

}  // namespace cinnabar::worker
