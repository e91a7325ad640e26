// States of runs that were damaged or half written: always refused, and the one before is taken.
#include <fstream>
#include <map>
#include <random>
#include <set>

#include <ATen/ATen.h>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/committed_folder.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/events.h"
#include "cinnabar/jobs/command_schemas.h"
#include "cinnabar/schema/resolve.h"
#include "cinnabar/train/resume.h"
#include "cinnabar/train/run_state.h"
#include "faults/power_loss.h"
#include "faults/soak/damaged_files.h"
#include "faults/soak/engine_run.h"
#include "faults/soak/scratch.h"
#include "faults/soak/tally.h"

namespace cinnabar::soak {

namespace {

namespace fs = std::filesystem;

void put(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// A state of a run, and one two steps older.
class Damage {
 public:
  Damage() {
    const Words words = folder_.words(
        4, {"--ema", "--save_state", "--save_every_n_steps", "2", "--network_dim", "1", "--network_train_unet_only"});
    if (const EngineRun run = run_engine(words); run.error) throw std::runtime_error(run.error->message());
    fs::remove_all(newest_);
    fs::rename(folder_.path() / "out/run-step00000004-state", newest_);
    for (const auto& entry : fs::directory_iterator(newest_)) files_[entry.path()] = base::read_file(entry.path());
    Words resumed = words;
    resumed.insert(resumed.end(), {"--resume", "auto"});
    values_ = schema::read_config(jobs::train_schema(), "train", resumed).values;
  }

  const std::map<fs::path, std::string>& files() const { return files_; }

  // "" when the state with this file in it is refused. Now and then a whole resume is asked for.
  std::string refused(const fs::path& file, const std::string& bytes, bool is_whole) {
    put(file, bytes);
    std::string problem = newest_.string() + " is taken, though " + file.filename().string() + " is damaged";
    try {
      train::open_state(newest_);
    } catch (const base::Error& error) {
      const bool is_typed = error.code() == base::ErrorCode::Format || error.code() == base::ErrorCode::Io;
      problem = is_typed && error.message().find("run-state") != std::string::npos
                    ? ""
                    : "refused, but in these words: " + error.message();
    }
    if (problem.empty() && is_whole) {
      base::SilentEvents silent;
      const auto state = train::state_to_resume(values_, silent);
      if (!state || state->position.step != 2) problem = "the state before was not taken";
    }
    put(file, files_.at(file));
    return problem;
  }

 private:
  EngineFolder folder_;
  fs::path newest_ = folder_.path() / "out/run-state";
  std::map<fs::path, std::string> files_;
  schema::Values values_;
};

train::StateSnapshot small_state(int step) {
  train::StateSnapshot snapshot;
  snapshot.position = {.step = step};
  snapshot.parameters = {{"a", at::full({40}, static_cast<double>(step))}};
  snapshot.optimizer = {{"m", at::full({40}, static_cast<double>(step))}};
  snapshot.json = "{\"step\": " + std::to_string(step) + "}\n";
  return snapshot;
}

}  // namespace

Tally test_read_faults(const Settings& settings) {
  Tally tally;
  Damage damage;
  std::mt19937_64 random(settings.seed);
  const auto round = [&](const fs::path& file, const std::string& bytes, const std::string& what) {
    const std::string problem = damage.refused(file, bytes, ++tally.rounds % 50 == 0);
    if (!problem.empty()) tally.fail(what + ": " + problem);
  };
  for (const auto& [file, bytes] : damage.files()) {
    for (size_t part = 0; part < 64; ++part) {
      const size_t size = bytes.size() * part / 64;
      round(file, bytes.substr(0, size), "cut to " + std::to_string(size) + " bytes");
    }
  }
  const int64_t all = settings.count(600, 20'000);
  std::vector<const std::pair<const fs::path, std::string>*> files;
  for (const auto& file : damage.files()) files.push_back(&file);
  while (tally.rounds < all) {
    const auto& [file, bytes] = *files[random() % files.size()];
    std::string changed = bytes;
    // Headers and small files are hit as often as tensor data.
    const size_t span = random() % 2 == 0 ? std::min<size_t>(bytes.size(), 2048) : bytes.size();
    const size_t at = random() % span;
    const auto bit = static_cast<unsigned>(random() % 8);
    changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ (1U << bit));
    round(file, changed, "bit " + std::to_string(bit) + " of byte " + std::to_string(at));
  }
  read_damaged_files(settings.count(400, 10'000), settings.seed, tally);
  return tally;
}

Tally test_power_loss(const Settings& settings) {
  Tally tally;
  std::mt19937 random(static_cast<uint32_t>(settings.seed));
  const int64_t all = settings.count(40, 500);
  while (tally.rounds < all) {
    const Scratch scratch;
    const fs::path root = scratch.path() / "disk";
    fs::create_directory(root);
    faults::PowerLossCalls calls(root);
    std::set<int> claimed;   // states whose write has returned
    std::set<int> removing;  // those that are no longer promised
    const auto name = [](int step) { return "run-step" + std::to_string(step) + "-state"; };
    int64_t number = 0;
    calls.after_call = [&] {
      // Each call of one save after another is too many for the short run: a part by chance.
      if (settings.tier == Tier::T0 && random() % 8 != 0) return;
      for (const faults::Loss loss :
           {faults::Loss::Data, faults::Loss::Names, faults::Loss::Both, faults::Loss::Random}) {
        const fs::path found = scratch.path() / ("after-" + std::to_string(number++));
        calls.lay_out(found, loss, random);
        base::remove_leftovers(found);
        ++tally.rounds;
        for (const int step : claimed) {
          if (!removing.contains(step) && !fs::exists(found / name(step))) tally.fail(name(step) + " is missing");
        }
        for (const auto& entry : fs::directory_iterator(found)) {
          try {
            base::verify_folder(entry.path());
          } catch (const base::Error& error) {
            tally.fail(error.message());
          }
        }
        fs::remove_all(found);
      }
    };
    const base::FileCallsGuard guard(calls);
    for (int step = 1; step <= 4; ++step) {
      train::write_state(root / name(step), small_state(step));
      claimed.insert(step);
      if (step < 3) continue;
      removing.insert(step - 2);
      base::remove_committed(root / name(step - 2));
    }
    train::write_state(root / name(4), small_state(5));  // replaced at once
  }
  return tally;
}

}  // namespace cinnabar::soak
