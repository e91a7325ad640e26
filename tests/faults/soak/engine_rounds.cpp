// Rounds inside this process: resumed at every step, with other numbers of threads and parts, without memory.
#include <atomic>
#include <cmath>
#include <new>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/CPUAllocator.h>

#include "cinnabar/base/events.h"
#include "cinnabar/data/loader.h"
#include "cinnabar/jobs/command_schemas.h"
#include "cinnabar/schema/resolve.h"
#include "cinnabar/train/batch_inputs.h"
#include "cinnabar/train/micro_batch.h"
#include "cinnabar/train/run_data.h"
#include "faults/soak/engine_run.h"
#include "faults/soak/tally.h"

namespace cinnabar::soak {

namespace {

namespace fs = std::filesystem;

std::string command_text(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += word + " ";
  return text;
}

Words resumed(Words words) {
  words.insert(words.end(), {"--resume", "auto"});
  return words;
}

// Fails allocations of tensors on command. In the place of libtorch's allocator, which it uses.
class FailingAllocator : public c10::Allocator {
 public:
  explicit FailingAllocator(c10::Allocator& real) : real_(real) {}

  c10::DataPtr allocate(size_t size) override {
    if (size > 0 && left_ >= 0 && (left_ == 0 || left_-- == 1)) {
      if (!is_sticky_) left_ = -1;
      ++failures;
      throw std::bad_alloc();
    }
    return real_.allocate(size);
  }
  c10::DeleterFnPtr raw_deleter() const override { return real_.raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t count) const override { real_.copy_data(to, from, count); }

  // The `n`-th allocation from now on fails (from 1), and with `is_sticky` all after it.
  void fail_at(int64_t n, bool is_sticky) {
    is_sticky_ = is_sticky;
    left_ = n;
  }
  void rest() { left_ = -1; }
  std::atomic<int64_t> failures{0};

 private:
  c10::Allocator& real_;
  std::atomic<int64_t> left_{-1};  // -1: none fails
  bool is_sticky_ = false;
};

FailingAllocator* g_allocator = nullptr;
int64_t g_fail_at = 0;
bool g_is_sticky = false;

void arm() { g_allocator->fail_at(g_fail_at, g_is_sticky); }

// A fault of one run; "" when it went as it should.
std::string allocation_round(const EngineFolder& folder, const EngineFolder& expected, const Words& words,
                             Tally& tally) {
  folder.clear();
  const int64_t before = g_allocator->failures;
  EngineRun run = run_engine(words, 0, arm);
  g_allocator->rest();
  if (g_allocator->failures == before) return "not reached";
  ++tally.rounds;
  if (run.error) {
    ++tally.numbers["runs ended"];
    if (run.error->code() != base::ErrorCode::OutOfMemory) return "told as: " + run.error->message();
    run = run_engine(resumed(words));
    if (run.error) return "the resumed run: " + run.error->message();
  } else {
    ++tally.numbers["runs went on"];
  }
  for (const std::string& message : run.messages) {
    if (message.find("in parts of") != std::string::npos) return {};  // rounds differently
  }
  return difference_of_states(expected.path(), folder.path());
}

// Everything that the loader hands out for one epoch, in order.
std::string batches_of(const std::vector<data::Dataset>& datasets, size_t threads) {
  std::string all;
  data::Loader loader(datasets, {.seed = 5, .epoch = 2, .threads = threads});
  while (loader.has_next()) {
    const data::LoadedBatch batch = loader.next();
    for (const std::string& caption : batch.captions) all += caption + "\n";
    for (const data::BatchItem& item : batch.plan.items)
      all += std::to_string(item.sample) + " " + std::to_string(item.item) + (item.is_flipped ? "f" : "") + "\n";
    const at::Tensor pixels = batch.pixels.contiguous();
    all.append(static_cast<const char*>(pixels.const_data_ptr()), pixels.nbytes());
  }
  return all;
}

// Everything that steps of one epoch are computed from, with batches in parts of `size` (0: whole), in order.
std::string inputs_of(const std::vector<data::Dataset>& datasets, const Words& words, size_t size) {
  base::SilentEvents silent;
  const schema::Values values = schema::read_config(jobs::train_schema(), "train", words).values;
  train::LoadedModel base = train::load_run_model(values, silent);
  const train::TrainingStep step(*base.model, values);
  const noise::NoiseSource noise(values, step.table().steps());
  train::TextStates text(*base.model, {});
  const train::BatchInputs inputs(base, step, noise, text, silent);
  const at::NoGradGuard no_grad;
  std::string all;
  data::Loader loader(datasets, {.seed = 5, .epoch = 2, .threads = 0});
  while (loader.has_next()) {
    const data::LoadedBatch batch = loader.next();
    const size_t count = batch.plan.items.size();
    for (size_t first = 0; first < count; first += size == 0 ? count : size) {
      const size_t here = size == 0 ? count : std::min(size, count - first);
      const auto part = train::part_of(batch, first, here);
      const train::StepInputs made = inputs.of(part, {.seed = 5, .step = 2});
      for (size_t i = 0; i < here; ++i) {
        all += part.captions[i];
        for (const at::Tensor& rows :
             {made.noise, made.input_noise, made.timesteps, made.loss_weights, made.conditioning.sizes, part.pixels}) {
          if (!rows.defined()) continue;
          const at::Tensor row = rows[static_cast<int64_t>(i)].contiguous();
          all.append(static_cast<const char*>(row.const_data_ptr()), row.nbytes());
        }
      }
    }
  }
  return all;
}

}  // namespace

Tally test_resume_equality(const Settings& settings) {
  Tally tally;
  const int64_t steps = settings.count(6, 40);
  std::vector<Words> combinations = engine_combinations();
  if (settings.tier == Tier::T0) combinations = {combinations[settings.seed % combinations.size()]};
  tally.numbers["combinations"] = static_cast<int64_t>(combinations.size());
  const EngineFolder whole;
  const EngineFolder broken;
  for (const Words& combination : combinations) {
    whole.clear();
    const EngineRun unbroken = run_engine(whole.words(steps, combination));
    if (unbroken.error) {
      tally.fail(command_text(combination) + ": " + unbroken.error->message());
      continue;
    }
    for (int64_t stop = 1; stop < steps; ++stop) {
      broken.clear();
      const Words words = broken.words(steps, combination);
      const EngineRun first = run_engine(words, stop);
      EngineRun second = run_engine(resumed(words));
      ++tally.rounds;
      std::string problem;
      if (!first.error || first.error->code() != base::ErrorCode::Cancelled) problem = "the run was not stopped";
      if (second.error) problem = second.error->message();
      if (problem.empty()) problem = difference_of_states(whole.path(), broken.path());
      second.losses.insert(first.losses.begin(), first.losses.end());
      if (problem.empty() && second.losses != unbroken.losses) problem = "the losses differ";
      if (!problem.empty())
        tally.fail("stopped at step " + std::to_string(stop) + ", " + command_text(combination) + ": " + problem);
    }
    tell("equality: " + command_text(combination));
  }
  return tally;
}

Tally test_threads_and_parts(const Settings& settings) {
  Tally tally;
  const EngineFolder one;
  const EngineFolder other;
  const Words options{"--optimizer_type",  "AdamW",      "--learning_rate",   "1e-3", "--train_batch_size", "2",
                      "--shuffle_caption", "--flip_aug", "--network_dropout", "0.2",  "--noise_offset",     "0.1"};
  const int64_t steps = settings.count(4, 20);
  const EngineRun expected = run_engine(one.words(steps, options));
  for (const char* threads : {"1", "2", "4"}) {
    other.clear();
    Words words = other.words(steps, options);
    words.insert(words.end(), {"--max_data_loader_n_workers", threads});
    const EngineRun run = run_engine(words);
    ++tally.rounds;
    const std::string problem = run.error ? run.error->message() : difference_of_states(one.path(), other.path());
    if (!problem.empty() || run.losses != expected.losses) tally.fail(std::string(threads) + " threads: " + problem);
  }
  // The option is limited to the cores of the machine; the loader itself is not.
  base::SilentEvents silent;
  const auto datasets =
      train::scan_run_data(schema::read_config(jobs::train_schema(), "train", one.words(1, options)).values, silent);
  const std::string batches = batches_of(datasets, 0);
  for (const size_t threads : {size_t{1}, size_t{2}, size_t{4}}) {
    ++tally.rounds;
    if (batches_of(datasets, threads) != batches)
      tally.fail("the batches of " + std::to_string(threads) + " threads differ");
  }
  // Parts of a batch: the same pictures, captions, latents, noise and timesteps to the bit, other orders of addition.
  for (const size_t size : {size_t{1}, size_t{2}, size_t{3}}) {
    ++tally.rounds;
    if (inputs_of(datasets, one.words(1, options), size) != inputs_of(datasets, one.words(1, options), 0))
      tally.fail("parts of " + std::to_string(size) + " have other inputs than the whole batch");
  }
  other.clear();
  Words words = other.words(steps, options);
  words.insert(words.end(), {"--micro_batch_size", "1"});
  const EngineRun parts = run_engine(words);
  ++tally.rounds;
  if (parts.error) tally.fail("batches in parts: " + parts.error->message());
  double largest = 0.0;
  for (const auto& [step, loss] : expected.losses) {
    const auto found = parts.losses.find(step);
    if (found == parts.losses.end()) {
      tally.fail("batches in parts: no loss of step " + std::to_string(step));
      continue;
    }
    largest = std::max(largest, std::abs(found->second - loss) / std::abs(loss));
  }
  // fp32 sums of another order, carried through `steps` updates; other draws would differ by tenths.
  if (largest > 1e-4) tally.fail("batches in parts: a loss differs by " + std::to_string(largest));
  return tally;
}

Tally test_allocations(const Settings& settings) {
  Tally tally;
  static FailingAllocator allocator(*c10::GetCPUAllocator());
  g_allocator = &allocator;
  c10::SetCPUAllocator(&allocator, 1);
  const EngineFolder expected;
  const EngineFolder folder;
  const Words plain{"--optimizer_type",
                    "AdamW",
                    "--learning_rate",
                    "1e-3",
                    "--train_batch_size",
                    "2",
                    "--network_train_unet_only",
                    "--cache_latents",
                    "--save_state",
                    "--save_every_n_steps",
                    "2"};
  if (const EngineRun run = run_engine(expected.words(4, plain)); run.error) {
    tally.fail(run.error->message());
    return tally;
  }
  const int64_t rounds = settings.count(6, 300);
  // Steps allocate some thousand tensors; the places are spread over them.
  const int64_t stride = std::max<int64_t>(1, 12000 / rounds);
  for (int64_t i = 0, at = 1 + static_cast<int64_t>(settings.seed % 7); i < rounds; ++i, at += stride) {
    g_fail_at = at;
    g_is_sticky = i % 3 == 2;
    const std::string problem = allocation_round(folder, expected, folder.words(4, plain), tally);
    if (problem == "not reached") {
      at = 1 + i % 11;  // from the beginning again, at other places
      continue;
    }
    if (!problem.empty()) tally.fail("allocation " + std::to_string(at) + (g_is_sticky ? " and on: " : ": ") + problem);
  }
  c10::SetCPUAllocator(c10::GetDefaultCPUAllocator(), 1);
  return tally;
}

}  // namespace cinnabar::soak
