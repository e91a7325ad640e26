// Folders and limits of the system that are really full, small, read-only, missing or broken links: small file systems
// where they may be mounted, and the limits of a process.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <memory>
#include <vector>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/process.h"
#include "faults/soak/killed_run.h"
#include "faults/soak/tally.h"

namespace cinnabar::soak {

namespace {

namespace fs = std::filesystem;

constexpr int kAnyStatus = -2;  // 0, 1 or 2

// A file system of its own at a folder, as long as it lives.
class Mounted {
 public:
  // Empty, with these options ("size=64k").
  Mounted(fs::path folder, const std::string& options) : folder_(std::move(folder)) {
    fs::create_directories(folder_);
    is_there_ = ::mount("cinnabar", folder_.c_str(), "tmpfs", 0, options.c_str()) == 0;
  }
  // What is in the folder already.
  explicit Mounted(fs::path folder) : folder_(std::move(folder)), flags_(MS_BIND) {
    is_there_ = ::mount(folder_.c_str(), folder_.c_str(), nullptr, MS_BIND, nullptr) == 0;
  }
  ~Mounted() {
    if (is_there_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  Mounted(const Mounted&) = delete;
  Mounted& operator=(const Mounted&) = delete;
  bool is_there() const { return is_there_; }
  // Not while a file is open for writing: then false.
  bool make_read_only() { return remount(MS_RDONLY, ""); }
  bool make_writable(const std::string& options = "") { return remount(0, options); }

 private:
  bool remount(unsigned long more, const std::string& options) const {
    return ::mount("cinnabar", folder_.c_str(), nullptr, MS_REMOUNT | flags_ | more, options.c_str()) == 0;
  }
  fs::path folder_;
  unsigned long flags_ = 0;
  bool is_there_ = false;
};

// One round while it goes on.
struct Stage {
  const KillFolder& folder;
  Words words;
  std::unique_ptr<Mounted> mounted{};
  bool is_on = false;   // what happens during the run has happened
  bool is_off = false;  // and is over
  fs::path operator/(const char* name) const { return folder.path() / name; }
  bool mount(const char* name, const std::string& options) {
    mounted = std::make_unique<Mounted>(*this / name, options);
    return mounted->is_there();
  }
  bool log_holds(const char* text) const { return base::read_file(*this / "log.txt").find(text) != std::string::npos; }
  bool has_first_state() const { return fs::exists(*this / "out/run-step00000002-state"); }
};

struct Place {
  const char* name;
  int status;                           // of the run
  const char* message;                  // that it must tell; null: whatever it tells
  std::function<bool(Stage&)> prepare;  // false: not possible here
  std::function<void(Stage&)> beside{};
  std::function<void(Stage&)> mend{};
  Limits limits{};
};

void fill(const fs::path& folder) {
  std::ofstream out(folder / "filler", std::ios::binary);
  const std::string block(4096, 'x');
  while (out.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
  }
}

// The attribute "immutable" of a folder: nothing can be made, renamed or removed in it, by root neither. (A read-only
// remount is refused while the run holds its lock open.)
bool set_unchangeable(const fs::path& folder, bool is_on) {
  const base::Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  int flags = 0;
  if (!opened.is_open() || ::ioctl(opened.get(), FS_IOC_GETFLAGS, &flags) != 0) return false;
  flags = is_on ? flags | FS_IMMUTABLE_FL : flags & ~FS_IMMUTABLE_FL;
  return ::ioctl(opened.get(), FS_IOC_SETFLAGS, &flags) == 0;
}

void set_option(Words& words, const std::string& name, const std::string& value) {
  words.insert(words.end(), {name, value});
}

bool is_below_file(Stage& stage, const char* option) {
  base::write_file(stage / "file", "x");
  set_option(stage.words, option, "file/below");
  return true;
}

std::vector<Place> folders() {
  const auto writable = [](Stage& stage) { stage.mounted->make_writable(); };
  const auto no_link = [](Stage& stage) { fs::remove(stage / "out"); };
  return {
      {"output_dir below a file", 2, "expected a folder",
       [](Stage& stage) { return is_below_file(stage, "--output_dir"); }},
      {"logging_dir below a file", 1, "cannot make logging_dir file/below",
       [](Stage& stage) { return is_below_file(stage, "--logging_dir"); }},
      {"workspace below a file", 1, "--workspace", [](Stage& stage) { return is_below_file(stage, "--workspace"); }},
      {"output_dir is a dangling link",
       2,
       "this is a symbolic link; expected a folder",
       [](Stage& stage) {
         fs::create_symlink("nowhere", stage / "out");
         return true;
       },
       {},
       no_link},
      {"the file is a dangling link",
       2,
       "which is a symbolic link",
       [](Stage& stage) {
         fs::create_directory(stage / "out");
         fs::create_symlink("nowhere", stage / "out/run.safetensors");
         return true;
       },
       {},
       [](Stage& stage) { fs::remove(stage / "out/run.safetensors"); }},
      {"read-only output_dir",
       2,
       "Read-only file system; name another folder",
       [](Stage& stage) { return stage.mount("out", "size=16m") && stage.mounted->make_read_only(); },
       {},
       writable},
      {"read-only logging_dir", 1, "logging_dir logs cannot be written",
       [](Stage& stage) {
         set_option(stage.words, "--logging_dir", "logs");
         return stage.mount("logs", "size=16m") && stage.mounted->make_read_only();
       }},
      {"read-only workspace",
       1,
       "--workspace",
       [](Stage& stage) { return stage.mount("work", "size=16m") && stage.mounted->make_read_only(); },
       {},
       writable},
      {"read-only data set with caches in it",
       kAnyStatus,
       nullptr,
       [](Stage& stage) {
         stage.mounted = std::make_unique<Mounted>(stage / "data");
         return stage.mounted->is_there() && stage.mounted->make_read_only();
       },
       {},
       writable},
      {"output_dir becomes unchangeable and changeable again", 0, "is written; the training goes on",
       [](Stage& stage) {
         // Not every file system knows the flag.
         fs::create_directory(stage / "out");
         return set_unchangeable(stage / "out", true) && set_unchangeable(stage / "out", false);
       },
       [](Stage& stage) {
         if (!stage.is_on && stage.has_first_state()) stage.is_on = set_unchangeable(stage / "out", true);
         if (stage.is_on && !stage.is_off && stage.log_holds("cannot be written"))
           stage.is_off = set_unchangeable(stage / "out", false);
       },
       [](Stage& stage) { set_unchangeable(stage / "out", false); }},
  };
}

std::vector<Place> disks() {
  const auto fills_later = [](Stage& stage) {
    if (stage.is_on || !stage.has_first_state()) return;
    fill(stage / "out");
    stage.is_on = true;
  };
  const auto empties = [](Stage& stage) { fs::remove(stage / "out/filler"); };
  const auto of_size = [](const char* size) { return [size](Stage& stage) { return stage.mount("out", size); }; };
  return {
      {"no room from the start",
       1,
       "two saves of this run need",
       of_size("size=64k"),
       {},
       [](Stage& stage) { stage.mounted->make_writable("size=16m"); }},
      {"full from the start",
       1,
       "output_dir out cannot be written",
       [](Stage& stage) {
         const bool is_there = stage.mount("out", "size=256k");
         if (is_there) fill(stage / "out");
         return is_there;
       },
       {},
       [=](Stage& stage) {
         empties(stage);
         stage.mounted->make_writable("size=16m");
       }},
      {"fills, and is emptied", 0, "is written; the training goes on", of_size("size=16m"),
       [=](Stage& stage) {
         fills_later(stage);
         if (!stage.is_on || stage.is_off || !stage.log_holds("cannot be written")) return;
         empties(stage);
         stage.is_off = true;
       }},
      {"fills, and stays so", 1, "No space left on device",
       [=](Stage& stage) {
         set_option(stage.words, "--disk_wait_minutes", "0.02");
         return of_size("size=16m")(stage);
       },
       fills_later, empties},
      {"no more names",
       1,
       "No space left on device",
       [=](Stage& stage) {
         set_option(stage.words, "--disk_wait_minutes", "0.02");
         return of_size("size=16m,nr_inodes=9")(stage);
       },
       {},
       [](Stage& stage) { stage.mounted->make_writable("nr_inodes=1000"); }},
      {"full workspace",
       kAnyStatus,
       nullptr,
       [](Stage& stage) { return stage.mount("work", "size=24k"); },
       {},
       [](Stage& stage) { stage.mounted->make_writable("size=16m"); }},
      {"full logging_dir", 0, nullptr,
       [](Stage& stage) {
         set_option(stage.words, "--logging_dir", "logs");
         return stage.mount("logs", "size=4k");
       }},
  };
}

std::vector<Place> process_limits() {
  const auto nothing = [](Stage&) { return true; };
  std::vector<Place> all;
  for (const rlim_t bytes : {rlim_t{0}, rlim_t{1000}, rlim_t{5000}, rlim_t{20'000}, rlim_t{60'000}, rlim_t{200'000}}) {
    all.push_back({"limit of file sizes", kAnyStatus, nullptr, [](Stage& stage) {
                     set_option(stage.words, "--disk_wait_minutes", "0.02");
                     return true;
                   }});
    all.back().limits.file_bytes = bytes;
  }
  for (const rlim_t count : {rlim_t{6}, rlim_t{10}, rlim_t{14}, rlim_t{20}, rlim_t{30}}) {
    all.push_back({"limit of open files", kAnyStatus, nullptr, nothing});
    all.back().limits.open_files = count;
  }
  return all;
}

std::string problem_of(const Place& place, const KillFolder& whole, const Words& plain, Tally& tally) {
  const KillFolder folder;
  Stage stage{.folder = folder, .words = plain};
  if (!place.prepare(stage)) {
    ++tally.numbers["not possible here"];
    return {};
  }
  ++tally.rounds;
  const auto beside = [&](int) {
    if (place.beside) place.beside(stage);
  };
  const Ended ended = folder.run_beside(stage.words, beside, "", place.limits);
  if (place.mend) place.mend(stage);
  const bool is_fine =
      place.status == kAnyStatus ? ended.status >= 0 && ended.status <= 2 : ended.status == place.status;
  if (!is_fine) return "status " + std::to_string(ended.status) + ": " + ended.text;
  if (ended.status != 0 && ended.text.empty() && place.limits.file_bytes != 0) return "it ended without a word";
  if (place.message != nullptr && ended.text.find(place.message) == std::string::npos)
    return "the message lacks \"" + std::string(place.message) + "\": " + ended.text;
  if (ended.status != 0) {
    ++tally.numbers["ended, then resumed"];
    if (const std::string text = finish(folder, plain); !text.empty()) return text;
  }
  std::string problem = difference_of_states(whole.path(), folder.path());
  return problem.empty() ? leftover(folder.path()) : problem;
}

}  // namespace

Tally test_real_limits(const Settings& settings) {
  Tally tally;
  Words words = full_training();
  set_option(words, "--disk_wait_minutes", "0.3");
  const KillFolder whole;
  if (const Ended ended = whole.run(words); ended.status != 0) {
    tally.fail("an unbroken run fails: " + ended.text);
    return tally;
  }
  std::vector<Place> places = folders();
  for (auto& more : {disks(), process_limits()}) places.insert(places.end(), more.begin(), more.end());
  for (size_t i = 0; i < places.size(); ++i) {
    if (settings.tier == Tier::T0 && (i + settings.seed) % 5 != 0) continue;
    const std::string problem = problem_of(places[i], whole, words, tally);
    if (problem.empty()) continue;
    std::string name = places[i].name;
    for (const rlim_t limit : {places[i].limits.file_bytes, places[i].limits.open_files}) {
      if (limit != RLIM_INFINITY) name += " " + std::to_string(limit);
    }
    tally.fail(name + ": " + problem);
  }
  return tally;
}

}  // namespace cinnabar::soak
