// A disk below SQLite whose calls fail, or that forgets what was not synced when the power goes. Syncs themselves are
// left out: they cost time and prove nothing here.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <string>

#include "faults/power_loss.h"

namespace cinnabar::faults {

enum class StoreCall { Open, Read, Write, Truncate, Sync, Delete, Size, Lock, Map };

struct StoreFault {
  StoreCall call = StoreCall::Write;
  int result = SQLITE_IOERR;  // what SQLite is told
  int64_t at = 0;             // from 0
  bool is_sticky = false;     // and all later calls of this kind
  bool is_torn = false;       // of a write, the first half is made
};

class StoreDisk {
 public:
  // For its lifetime, all databases of this process that are opened anew lie on this disk. One at a time.
  StoreDisk();
  ~StoreDisk();
  StoreDisk(const StoreDisk&) = delete;
  StoreDisk& operator=(const StoreDisk&) = delete;

  // From now on, counting anew. No database may be open that was opened before.
  void fail(const StoreFault& fault);
  void rest() { is_failing_ = false; }
  bool has_failed() const { return has_failed_; }
  // After each call that changes the disk; may call lay_out.
  std::function<void()> after_call;
  // Writes to the folder `to` what may be found of the databases in `from` after a loss of power now. Names are kept.
  void lay_out(const std::filesystem::path& from, const std::filesystem::path& to, Loss loss,
               std::mt19937& random) const;

  // For the calls of SQLite.
  struct Contents {
    std::string now;
    std::string synced;
  };
  sqlite3_vfs* system() const { return system_; }
  // What the call is to give: SQLITE_OK goes on to the system.
  int result_of(StoreCall call);
  bool is_torn() const { return fault_.is_torn; }
  void opened(const std::filesystem::path& path);
  Contents* contents_of(const std::string& path);  // null: not looked after
  void removed(const std::string& path) { files_.erase(path); }
  void changed() const {
    if (after_call) after_call();
  }

 private:
  sqlite3_vfs* system_;
  sqlite3_vfs own_{};
  StoreFault fault_;
  bool is_failing_ = false;
  bool has_failed_ = false;
  int64_t count_ = 0;
  std::map<std::string, Contents> files_;
};

}  // namespace cinnabar::faults
