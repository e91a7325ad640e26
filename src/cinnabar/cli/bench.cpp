#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "cinnabar/base/error.h"
#include "cinnabar/base/path_kind.h"
#include "cinnabar/base/utf8.h"
#include "cinnabar/cli/command.h"
#include "cinnabar/hardware/detect.h"
#include "cinnabar/hardware/libtorch_build.h"
#include "cinnabar/hardware/self_test_report.h"
#include "cinnabar/hardware/system_sources.h"
#include "cinnabar/jobs/command_schemas.h"
#include "cinnabar/jobs/engine.h"
#include "cinnabar/jobs/run.h"
#include "cinnabar/jobs/self_test.h"

namespace cinnabar::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

schema::Schema bench_options() {
  const char* group = "Bench";
  return schema::Schema({{{.name = "device",
                           .type = schema::Type::Text,
                           .fallback = "auto",
                           .group = group,
                           .label = "Device",
                           .help = "What is measured: auto, cpu, gpu or gpu:N."},
                          {.name = "steps",
                           .type = schema::Type::Int,
                           .fallback = 40,
                           .range = {{2, 10000}},
                           .group = group,
                           .unit = "steps",
                           .label = "Steps",
                           .help = "How many steps of training on the embedded model are measured in each precision."},
                          {.name = "json",
                           .type = schema::Type::Flag,
                           .fallback = false,
                           .group = group,
                           .label = "JSON",
                           .help = "Prints the result as JSON, to be sent or compared."}}});
}

// A folder for the runs that are measured; they leave nothing.
class Scratch {
 public:
  Scratch() {
    std::error_code error;
    const fs::path folder = fs::temp_directory_path(error);
    if (error) {
      throw base::Error(base::ErrorCode::Io, "there is no folder for temporary files (TMPDIR, else /tmp): " +
                                                 error.message() + "; set TMPDIR to one");
    }
    std::string name = (folder / "cinnabar-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw base::write_error("cannot make a folder for temporary files", name, errno,
                              "; set TMPDIR to another folder");
    path_ = name;
  }
  ~Scratch() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

struct TrainingRate {
  std::string precision;
  std::optional<double> steps_per_s{};  // without the first step, which compiles and searches
  std::optional<double> loss{};         // average of the steps: about the same in every precision
  std::string problem{};
};

TrainingRate train(const jobs::Engine& engine, const schema::Values& values, const std::string& precision,
                   const fs::path& folder) {
  const schema::Schema schema = jobs::train_schema();
  const schema::Config config = schema::read_config(schema, "train",
                                                    {"--pretrained_model_name_or_path",
                                                     "embedded",
                                                     "--train_data_dir",
                                                     "embedded",
                                                     "--output_dir",
                                                     (folder / precision).string(),
                                                     "--device",
                                                     values.text("device"),
                                                     "--mixed_precision",
                                                     precision,
                                                     "--max_train_steps",
                                                     std::to_string(values.integer("steps")),
                                                     "--train_batch_size",
                                                     "4",
                                                     "--network_dim",
                                                     "8",
                                                     "--learning_rate",
                                                     "1e-4",
                                                     "--seed",
                                                     "1",
                                                     "--cache_latents",
                                                     "--telemetry_interval",
                                                     "0"});
  TrainingRate rate{.precision = precision};
  const jobs::RunHandlers handlers{.event = [&](const ordered_json& event) {
    if (event.value("type", "") != "progress" || event.value("phase", "") != "train") return;
    if (const auto found = event.find("steps_per_s"); found != event.end()) rate.steps_per_s = found->get<double>();
    if (const auto found = event.find("average_loss"); found != event.end() && found->is_number())
      rate.loss = found->get<double>();
  }};
  rate.problem = jobs::run(schema, config, engine, folder, handlers).message;
  return rate;
}

std::string machine_text(const hardware::Machine& machine) {
  if (!machine.default_gpu) return machine.host.cpu_name;
  const hardware::Gpu& gpu = machine.gpus[static_cast<size_t>(*machine.default_gpu)];
  return gpu.name + " (" + gpu.gfx.value_or(gpu.compute_capability.value_or("unknown chip")) + ")";
}

ordered_json rate_json(const TrainingRate& rate) {
  ordered_json json = {{"precision", rate.precision}};
  if (rate.steps_per_s) json["steps_per_s"] = *rate.steps_per_s;
  if (rate.loss) json["average_loss"] = *rate.loss;
  if (!rate.problem.empty()) json["problem"] = rate.problem;
  return json;
}

std::string rate_text(const TrainingRate& rate) {
  if (!rate.problem.empty()) return "  " + rate.precision + ": " + base::printable_text(rate.problem) + "\n";
  std::array<char, 128> line{};
  const char* precision = rate.precision == "no" ? "fp32" : rate.precision.c_str();
  std::snprintf(line.data(), line.size(), "  %-5s %8.2f steps/s   average loss %.4f\n", precision,
                rate.steps_per_s.value_or(0.0), rate.loss.value_or(std::nan("")));
  return line.data();
}

int run_bench(const std::vector<std::string>& words) {
  const schema::Config config = schema::read_config(bench_options(), "bench", words);
  const jobs::Engine engine = jobs::find_engine();
  const hardware::Machine machine =
      hardware::detect(hardware::system_sources(hardware::read_libtorch(engine.torch), true));
  const hardware::SelfTestReport kernels = jobs::run_self_test(engine, config.values.text("device"), {});
  const Scratch scratch;
  std::vector<TrainingRate> rates;
  if (kernels.problem.empty()) {
    for (const char* precision : {"no", "bf16", "fp16"})
      rates.push_back(train(engine, config.values, precision, scratch.path()));
  }
  bool is_good = kernels.is_good();
  for (const TrainingRate& rate : rates) is_good = is_good && rate.problem.empty();
  if (config.values.flag("json")) {
    ordered_json training = ordered_json::array();
    for (const TrainingRate& rate : rates) training.push_back(rate_json(rate));
    const ordered_json report = {{"machine", machine_text(machine)},
                                 {"kernel", machine.platform.kernel},
                                 {"version", CINNABAR_VERSION},
                                 {"kernels", hardware::self_test_json(kernels)},
                                 {"training", training}};
    std::cout << report.dump(2, ' ', false, ordered_json::error_handler_t::replace) << "\n";
    return is_good ? 0 : 1;
  }
  std::cout << machine_text(machine) << ", Cinnabar " << CINNABAR_VERSION << "\n" << hardware::self_test_text(kernels);
  if (!rates.empty()) std::cout << "\nTraining on the embedded model, LoRA of rank 8, 64 px, batch 4\n";
  for (const TrainingRate& rate : rates) std::cout << rate_text(rate);
  return is_good ? 0 : 1;
}

CINNABAR_REGISTER_COMMAND(bench, {.help = "Measures this machine: kernels against float64, and steps of training.",
                                  .usage = "[--device DEVICE] [--steps N] [--json]",
                                  .order = 81,
                                  .schema = bench_options,
                                  .run = run_bench});

}  // namespace

}  // namespace cinnabar::cli
