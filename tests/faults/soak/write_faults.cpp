// Every call below a write fails once, with each error: what was there stays, nothing is half written under a final
// name, the error is typed and names the file.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <map>

#include <ATen/ATen.h>

#include "cinnabar/adapters/adapter_set.h"
#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/committed_folder.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/events.h"
#include "cinnabar/data/content_hash.h"
#include "cinnabar/data/png_writer.h"
#include "cinnabar/data/tensor_cache.h"
#include "cinnabar/formats/npz.h"
#include "cinnabar/formats/tensorboard.h"
#include "cinnabar/jobs/run_folder.h"
#include "cinnabar/tensor/convert.h"
#include "cinnabar/train/lossy_board.h"
#include "cinnabar/train/run_state.h"
#include "faults/fault_calls.h"
#include "faults/soak/scratch.h"
#include "faults/soak/tally.h"

namespace cinnabar::soak {

namespace {

namespace fs = std::filesystem;
using faults::Fault;

struct Operation {
  std::string name;
  std::function<void(const fs::path& folder, int version)> write;
  bool is_log = false;      // grows in place: only that the rest stays is asked for
  bool is_varying = false;  // holds times: only that it is whole is asked for
  std::string named{};      // what the error must name
};

at::Tensor values_of(int version, int64_t count) { return at::full({count}, static_cast<double>(version)); }

train::StateSnapshot snapshot_of(int version) {
  train::StateSnapshot snapshot;
  snapshot.position = {.step = version};
  snapshot.parameters = {{"a", values_of(version, 400)}, {"b", values_of(version, 3)}};
  snapshot.optimizer = {{"first", values_of(version, 400)}, {"second", values_of(version, 400)}};
  snapshot.ema = {{"average", values_of(version, 403)}};
  snapshot.json = "{\"position\": " + std::to_string(version) + "}\n";
  return snapshot;
}

void write_run_record(const fs::path& folder, int version) {
  const jobs::RunFolder record(folder, "run");
  record.append_event("{\"type\":\"log\",\"text\":\"" + std::to_string(version) + "\"}");
  record.append_log("a line");
  record.write_state("{}");
}

void write_cache(const fs::path& folder, int version) {
  data::TensorCache cache(folder / "cache", "latents");
  const at::Tensor tensor = values_of(version, 500);
  cache.put("key" + std::to_string(version), {{"moments", tensor::view_of(tensor)}});
  cache.flush();
}

void write_records(const fs::path& folder) {
  formats::TensorBoardWriter writer(folder / "logs");
  for (int step = 1; step <= 3; ++step) writer.scalar("loss/current", step, 0.5F);
  writer.flush();
}

// Must neither throw nor warn more than once.
void write_lossy_records(const fs::path& folder) {
  base::RecordedEvents events;
  train::LossyBoard board(folder / "logs", events, 3600.0);
  for (int step = 1; step <= 6; ++step) board.scalar("loss/current", step, 0.5F);
  board.flush();
  if (events.lines().size() > 1) throw std::runtime_error("more than one warning");
}

std::vector<Operation> operations() {
  const auto tensors = [](int version) {
    return std::vector<std::pair<std::string, at::Tensor>>{{"lora_up.weight", values_of(version, 600)},
                                                           {"lora_down.weight", values_of(version, 300)}};
  };
  return {
      {.name = "state",
       .write = [](const fs::path& folder,
                   int version) { train::write_state(folder / "run-state", snapshot_of(version)); },
       .named = "run-state"},
      {.name = "network",
       .write =
           [=](const fs::path& folder, int version) {
             adapters::AdapterSet::write_file(folder / "run.safetensors", tensors(version), {{"ss_tag", "x"}});
           },
       .named = "run.safetensors"},
      {.name = "network as ckpt",
       .write = [=](const fs::path& folder,
                    int version) { adapters::AdapterSet::write_file(folder / "run.ckpt", tensors(version), {}); },
       .named = "run.ckpt"},
      {.name = "cache", .write = write_cache, .named = "cache"},
      {.name = "foreign cache",
       .write =
           [](const fs::path& folder, int version) {
             const formats::NpyArray array{.shape = {200}, .bytes = std::vector<std::byte>(800, std::byte(version))};
             formats::write_npz(folder / "latents.npz", {{"latents", array}});
           },
       .named = "latents.npz"},
      {.name = "index of hashes",
       .write =
           [](const fs::path& folder, int version) {
             base::write_file(folder / ("picture" + std::to_string(version)), "x");
             data::ContentHashes hashes(folder / "hashes.txt");
             hashes.of(folder / ("picture" + std::to_string(version)));
             hashes.save();
           },
       .is_varying = true,
       .named = "picture"},
      {.name = "sample",
       .write =
           [](const fs::path& folder, int version) {
             data::Picture picture{.width = 16, .height = 16, .channels = 3, .pixels = {}, .notes = {}};
             picture.pixels.assign(size_t{16} * 16 * 3, static_cast<uint8_t>(version));
             data::save_png(folder / "sample.png", picture, {{"parameters", "steps"}});
           },
       .named = "sample.png"},
      {.name = "report",
       .write =
           [](const fs::path& folder, int version) {
             base::write_file(folder / "report.json", std::string(2000, static_cast<char>('0' + version)));
           },
       .named = "report.json"},
      {.name = "log",
       .write = [](const fs::path& folder, int) { write_records(folder); },
       .is_log = true,
       .named = "logs"},
      {.name = "log of a training",
       .write = [](const fs::path& folder, int) { write_lossy_records(folder); },
       .is_log = true,
       .named = "logs"},
      {.name = "run record", .write = write_run_record, .is_log = true, .named = "run"},
  };
}

struct Kind {
  Fault fault;
  std::vector<int> errors;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {Fault::Open, {ENOSPC, EIO, EDQUOT, EROFS, EACCES, EMFILE}},
      {Fault::Write, {ENOSPC, EIO, EDQUOT, EINTR}},
      {Fault::ShortWrite, {0}},
      {Fault::Sync, {EIO, ENOSPC, EDQUOT}},
      {Fault::Close, {EIO, ENOSPC, EDQUOT, EINTR}},
      {Fault::Rename, {EIO, ENOSPC, EDQUOT, EROFS, EACCES}},
      {Fault::MakeFolder, {ENOSPC, EIO, EDQUOT, EROFS, EACCES}},
  };
  return all;
}

// Without waiting for the disk.
void write_quickly(const Operation& operation, const fs::path& folder, int version) {
  faults::FaultCalls calls({.at = std::numeric_limits<int64_t>::max()});
  const base::FileCallsGuard guard(calls);
  operation.write(folder, version);
}

// Relative path -> bytes of all files but hidden ones.
std::map<std::string, std::string> files_of(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const fs::path relative = entry.path().lexically_relative(folder);
    files[relative.string()] = base::read_file(entry.path());
  }
  return files;
}

void clean(const fs::path& folder) {
  base::remove_leftovers(folder);
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) clean(entry.path());
  }
}

// What each file is before and after a write without faults, by relative path.
struct Expected {
  bool is_fresh = false;
  std::map<std::string, std::string> before;
  std::map<std::string, std::string> after;
};

// `is_fresh`: the folder is empty before.
Expected expected_of(const Operation& operation, bool is_fresh) {
  const Scratch scratch;
  Expected expected{.is_fresh = is_fresh};
  if (!is_fresh) write_quickly(operation, scratch.path(), 1);
  expected.before = files_of(scratch.path());
  write_quickly(operation, scratch.path(), 2);
  expected.after = files_of(scratch.path());
  return expected;
}

// Names with a number of their own (records of runs) are not compared.
std::string wrong_files(const Operation& operation, const Expected& expected, const fs::path& folder) {
  const auto found = files_of(folder);
  for (const auto& [name, bytes] : expected.before) {
    if (operation.is_log) break;
    if (!found.contains(name)) return name + " is gone";
  }
  for (const auto& [name, bytes] : found) {
    if (fs::path(name).filename().string().starts_with(".")) return name + " is left over";
    if (operation.is_log) continue;
    if (operation.is_varying && bytes.starts_with("cinnabar-content-hashes") && bytes.ends_with("\n")) continue;
    const auto old = expected.before.find(name);
    const auto next = expected.after.find(name);
    const bool is_old = old != expected.before.end() && old->second == bytes;
    const bool is_new = next != expected.after.end() && next->second == bytes;
    if (!is_old && !is_new) return name + " is neither the old file nor the new one";
  }
  return {};
}

std::string wrong_error(const Operation& operation, const faults::FaultPlan& plan, const base::Error& error) {
  const bool is_full = plan.error == ENOSPC || plan.error == EDQUOT;
  const auto wanted = is_full ? base::ErrorCode::OutOfSpace : base::ErrorCode::Io;
  if (error.code() != wanted) return "the error is of another kind: " + error.message();
  if (error.message().find(operation.named) == std::string::npos) return "the error names no file: " + error.message();
  return {};
}

// False when the operation makes no such call any more.
bool fault_round(const Operation& operation, const Expected& expected, const faults::FaultPlan& plan, Tally& tally) {
  const Scratch scratch;
  if (!expected.is_fresh) write_quickly(operation, scratch.path(), 1);
  faults::FaultCalls calls(plan);
  std::string problem;
  {
    const base::FileCallsGuard guard(calls);
    try {
      operation.write(scratch.path(), 2);
      // Whoever hears nothing believes that the file is there.
    } catch (const base::Error& error) {
      problem = wrong_error(operation, plan, error);
      ++tally.numbers["errors told"];
    } catch (const std::exception& error) {
      problem = std::string("an untyped error: ") + error.what();
    }
  }
  if (!calls.has_failed()) return false;
  ++tally.rounds;
  clean(scratch.path());
  if (problem.empty()) problem = wrong_files(operation, expected, scratch.path());
  if (problem.empty()) return true;
  tally.fail(operation.name + ", fault " + std::to_string(static_cast<int>(plan.fault)) + " " +
             std::strerror(plan.error) + " at " + std::to_string(plan.at) + (plan.is_sticky ? " and on: " : ": ") +
             problem);
  return true;
}

void try_all(const Operation& operation, const Expected& expected, int64_t stride, Tally& tally) {
  for (const Kind& kind : kinds()) {
    for (const int error : kind.errors) {
      for (const bool is_sticky : {false, true}) {
        if (is_sticky && error == EINTR) continue;  // by its meaning it passes
        int64_t at = 0;
        while (fault_round(operation, expected, {kind.fault, error, at, is_sticky}, tally)) at += stride;
      }
    }
  }
}

}  // namespace

Tally test_write_faults(const Settings& settings) {
  Tally tally;
  // T0 draws a part: each n-th call.
  const int64_t stride = settings.count(5, 1);
  for (const Operation& operation : operations()) {
    for (const bool is_fresh : {false, true}) try_all(operation, expected_of(operation, is_fresh), stride, tally);
  }
  return tally;
}

}  // namespace cinnabar::soak
