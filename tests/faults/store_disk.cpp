#include "faults/store_disk.h"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <new>

namespace cinnabar::faults {

namespace {

namespace fs = std::filesystem;

// As SQLite lays out an open file: its own part first, the system's behind.
struct File {
  sqlite3_file base;
  StoreDisk* disk;
  std::string* path;
  sqlite3_file* real;
};

constexpr size_t kOwnBytes = (sizeof(File) + 15) / 16 * 16;

File& of(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }
StoreDisk& disk_of(sqlite3_vfs* vfs) { return *static_cast<StoreDisk*>(vfs->pAppData); }

void put(std::string& text, const void* bytes, int count, sqlite3_int64 at) {
  const auto end = static_cast<size_t>(at) + static_cast<size_t>(count);
  if (text.size() < end) text.resize(end, '\0');
  text.replace(static_cast<size_t>(at), static_cast<size_t>(count), static_cast<const char*>(bytes),
               static_cast<size_t>(count));
}

int close_file(sqlite3_file* file) {
  File& own = of(file);
  const int result = own.real->pMethods == nullptr ? SQLITE_OK : own.real->pMethods->xClose(own.real);
  delete own.path;
  return result;
}

int read_file(sqlite3_file* file, void* bytes, int count, sqlite3_int64 at) {
  if (const int result = of(file).disk->result_of(StoreCall::Read); result != SQLITE_OK) return result;
  return of(file).real->pMethods->xRead(of(file).real, bytes, count, at);
}

int write_file(sqlite3_file* file, const void* bytes, int count, sqlite3_int64 at) {
  File& own = of(file);
  const int failed = own.disk->result_of(StoreCall::Write);
  if (failed != SQLITE_OK && !own.disk->is_torn()) return failed;
  const int here = failed == SQLITE_OK ? count : count / 2;
  const int result = own.real->pMethods->xWrite(own.real, bytes, here, at);
  if (result == SQLITE_OK) {
    if (auto* contents = own.disk->contents_of(*own.path)) put(contents->now, bytes, here, at);
    own.disk->changed();
  }
  return failed != SQLITE_OK ? failed : result;
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  File& own = of(file);
  if (const int result = own.disk->result_of(StoreCall::Truncate); result != SQLITE_OK) return result;
  const int result = own.real->pMethods->xTruncate(own.real, size);
  if (result == SQLITE_OK) {
    if (auto* contents = own.disk->contents_of(*own.path)) contents->now.resize(static_cast<size_t>(size), '\0');
    own.disk->changed();
  }
  return result;
}

int sync_file(sqlite3_file* file, int) {
  File& own = of(file);
  if (const int result = own.disk->result_of(StoreCall::Sync); result != SQLITE_OK) return result;
  if (auto* contents = own.disk->contents_of(*own.path)) contents->synced = contents->now;
  own.disk->changed();
  return SQLITE_OK;
}

int size_of_file(sqlite3_file* file, sqlite3_int64* size) {
  if (const int result = of(file).disk->result_of(StoreCall::Size); result != SQLITE_OK) return result;
  return of(file).real->pMethods->xFileSize(of(file).real, size);
}

int lock_file(sqlite3_file* file, int level) {
  if (const int result = of(file).disk->result_of(StoreCall::Lock); result != SQLITE_OK) return result;
  return of(file).real->pMethods->xLock(of(file).real, level);
}

int unlock_file(sqlite3_file* file, int level) { return of(file).real->pMethods->xUnlock(of(file).real, level); }

int check_reserved(sqlite3_file* file, int* result) {
  return of(file).real->pMethods->xCheckReservedLock(of(file).real, result);
}

int control_file(sqlite3_file* file, int what, void* value) {
  return of(file).real->pMethods->xFileControl(of(file).real, what, value);
}

int sector_size(sqlite3_file* file) { return of(file).real->pMethods->xSectorSize(of(file).real); }

// Nothing is promised, so that SQLite relies on its syncs alone.
int characteristics(sqlite3_file*) { return 0; }

int map_shared(sqlite3_file* file, int page, int size, int extend, void volatile** place) {
  if (const int result = of(file).disk->result_of(StoreCall::Map); result != SQLITE_OK) return result;
  return of(file).real->pMethods->xShmMap(of(file).real, page, size, extend, place);
}

int lock_shared(sqlite3_file* file, int offset, int count, int flags) {
  return of(file).real->pMethods->xShmLock(of(file).real, offset, count, flags);
}

void barrier(sqlite3_file* file) { of(file).real->pMethods->xShmBarrier(of(file).real); }

int unmap_shared(sqlite3_file* file, int removes) { return of(file).real->pMethods->xShmUnmap(of(file).real, removes); }

const sqlite3_io_methods* methods() {
  static const sqlite3_io_methods all = [] {
    sqlite3_io_methods made{};
    made.iVersion = 2;
    made.xClose = close_file;
    made.xRead = read_file;
    made.xWrite = write_file;
    made.xTruncate = truncate_file;
    made.xSync = sync_file;
    made.xFileSize = size_of_file;
    made.xLock = lock_file;
    made.xUnlock = unlock_file;
    made.xCheckReservedLock = check_reserved;
    made.xFileControl = control_file;
    made.xSectorSize = sector_size;
    made.xDeviceCharacteristics = characteristics;
    made.xShmMap = map_shared;
    made.xShmLock = lock_shared;
    made.xShmBarrier = barrier;
    made.xShmUnmap = unmap_shared;
    return made;
  }();
  return &all;
}

int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* flags_out) {
  StoreDisk& disk = disk_of(vfs);
  File& own = of(file);
  own.base.pMethods = nullptr;  // SQLite does not close what was not opened
  if (const int result = disk.result_of(StoreCall::Open); result != SQLITE_OK) return result;
  own.real = reinterpret_cast<sqlite3_file*>(reinterpret_cast<std::byte*>(file) + kOwnBytes);
  own.real->pMethods = nullptr;
  const int result = disk.system()->xOpen(disk.system(), name, own.real, flags, flags_out);
  if (result != SQLITE_OK) {
    if (own.real->pMethods != nullptr) own.real->pMethods->xClose(own.real);
    return result;
  }
  own.disk = &disk;
  own.path = new std::string(name == nullptr ? "" : name);
  own.base.pMethods = methods();
  if (name != nullptr) disk.opened(*own.path);
  return SQLITE_OK;
}

int delete_file(sqlite3_vfs* vfs, const char* name, int) {
  StoreDisk& disk = disk_of(vfs);
  if (const int result = disk.result_of(StoreCall::Delete); result != SQLITE_OK) return result;
  const int result = disk.system()->xDelete(disk.system(), name, 0);
  if (result == SQLITE_OK) {
    disk.removed(name);
    disk.changed();
  }
  return result;
}

}  // namespace

StoreDisk::StoreDisk() : system_(::sqlite3_vfs_find(nullptr)), own_(*system_) {
  own_.szOsFile = static_cast<int>(kOwnBytes) + system_->szOsFile;
  own_.zName = "tried";
  own_.pAppData = this;
  own_.xOpen = open_file;
  own_.xDelete = delete_file;
  ::sqlite3_vfs_register(&own_, 1);
}

StoreDisk::~StoreDisk() {
  ::sqlite3_vfs_unregister(&own_);
  ::sqlite3_vfs_register(system_, 1);
}

void StoreDisk::fail(const StoreFault& fault) {
  fault_ = fault;
  is_failing_ = true;
  has_failed_ = false;
  count_ = 0;
}

int StoreDisk::result_of(StoreCall call) {
  if (!is_failing_ || call != fault_.call) return SQLITE_OK;
  const int64_t number = count_++;
  if (number != fault_.at && !(fault_.is_sticky && number > fault_.at)) return SQLITE_OK;
  has_failed_ = true;
  return fault_.result;
}

void StoreDisk::opened(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  Contents& contents = files_[path.string()];
  // Made or replaced by other means.
  if (contents.now != bytes) contents = {bytes, bytes};
}

StoreDisk::Contents* StoreDisk::contents_of(const std::string& path) {
  const auto found = files_.find(path);
  return found == files_.end() ? nullptr : &found->second;
}

void StoreDisk::lay_out(const fs::path& from, const fs::path& to, Loss loss, std::mt19937& random) const {
  constexpr size_t kSector = 512;
  fs::create_directories(to);
  for (const auto& [path, contents] : files_) {
    if (fs::path(path).parent_path() != from) continue;
    std::string bytes = loss == Loss::Names ? contents.now : contents.synced;
    if (loss == Loss::Random) {
      // Sectors reach the disk in any order.
      bytes = random() % 2 == 0 ? contents.now : contents.synced;
      for (size_t at = 0; at < std::min(contents.now.size(), bytes.size()); at += kSector) {
        const std::string& source = random() % 2 == 0 ? contents.now : contents.synced;
        if (at >= source.size()) continue;
        const size_t count = std::min({kSector, source.size() - at, bytes.size() - at});
        bytes.replace(at, count, source, at, count);
      }
    }
    std::ofstream(to / fs::path(path).filename(), std::ios::binary | std::ios::trunc) << bytes;
  }
}

}  // namespace cinnabar::faults
