#include "cinnabar/hardware/sources.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <system_error>

#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMostFileBytes = 1 << 20;

// "card2" before "card10".
bool comes_before(const std::string& a, const std::string& b) {
  const auto digits = [](const std::string& text) {
    const size_t at = text.find_first_of("0123456789");
    return at == std::string::npos ? text.size() : at;
  };
  const size_t at = digits(a);
  if (at != digits(b) || a.compare(0, at, b, 0, at) != 0) return a < b;
  const auto x = number_of(std::string_view(a).substr(at));
  const auto y = number_of(std::string_view(b).substr(at));
  if (x && y && *x != *y) return *x < *y;
  return a < b;
}

}  // namespace

const std::vector<std::string> kCommandLines = {
    command_line::kRocminfo,     command_line::kAmdSmiVersion, command_line::kAmdSmiList, command_line::kAmdSmiStatic,
    command_line::kAmdSmiMetric, command_line::kRocmSmi,       command_line::kNvidiaSmi,  command_line::kHipconfig};

std::optional<std::string> FileTree::read(const std::string& path) const {
  if (made_up_) {
    const auto found = made_up_->find(path);
    return found == made_up_->end() ? std::nullopt : std::optional(found->second);
  }
  std::error_code error;
  const fs::path file = root_ / fs::path(path).relative_path();
  if (!fs::is_regular_file(file, error) || error) return std::nullopt;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return std::nullopt;
  std::string content(kMostFileBytes, '\0');
  stream.read(content.data(), static_cast<std::streamsize>(content.size()));
  // Files of sysfs can be opened and yet refuse to be read (a sleeping card, a container).
  if (stream.bad() || (stream.gcount() == 0 && !stream.eof())) return std::nullopt;
  content.resize(static_cast<size_t>(stream.gcount()));
  return content;
}

std::optional<std::string> FileTree::text(const std::string& path) const {
  const auto content = read(path);
  if (!content) return std::nullopt;
  return seen_[path] = trimmed(*content);
}

std::optional<int64_t> FileTree::number(const std::string& path) const {
  const auto content = text(path);
  return content ? integer_of(*content) : std::nullopt;
}

std::optional<std::string> FileTree::bytes(const std::string& path) const { return read(path); }

std::vector<std::string> FileTree::names(const std::string& folder) const {
  std::set<std::string> found;
  if (made_up_) {
    const std::string begin = folder.ends_with("/") ? folder : folder + "/";
    for (auto file = made_up_->lower_bound(begin); file != made_up_->end() && file->first.starts_with(begin); ++file)
      found.insert(file->first.substr(begin.size(), file->first.find('/', begin.size()) - begin.size()));
  } else {
    std::error_code error;
    for (fs::directory_iterator entry(root_ / fs::path(folder).relative_path(), error), end; !error && entry != end;
         entry.increment(error)) {
      found.insert(entry->path().filename().string());
    }
  }
  std::vector<std::string> result(found.begin(), found.end());
  std::sort(result.begin(), result.end(), comes_before);
  return result;
}

bool FileTree::has(const std::string& path) const {
  std::error_code error;
  const bool is_there = made_up_ ? made_up_->contains(path) || !names(path).empty()
                                 : fs::exists(root_ / fs::path(path).relative_path(), error) && !error;
  if (is_there) seen_.try_emplace(path);
  return is_there;
}

CommandResult Sources::run(const std::string& command_line) const {
  const CommandResult* best = nullptr;
  size_t length = 0;
  for (const auto& [begin, result] : commands) {
    if (command_line.starts_with(begin) && begin.size() >= length) {
      best = &result;
      length = begin.size();
    }
  }
  return best == nullptr ? CommandResult{} : *best;
}

DeviceNode Sources::device(const std::string& path) const {
  const auto found = devices.find(path);
  return found == devices.end() ? DeviceNode{} : found->second;
}

std::optional<std::string> Sources::variable(const std::string& name) const {
  const auto found = environment.find(name);
  if (found == environment.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

bool is_relevant_variable(const std::string& name) {
  for (const char* begin :
       {"HSA_", "HIP_", "ROCR_", "ROCM_", "CUDA_", "GPU_", "AMD_", "MIOPEN_", "HIPBLASLT_", "ROCBLAS_", "TENSILE_",
        "NCCL_", "RCCL_", "PYTORCH_", "TORCH_ROCM_", "TORCH_BLAS_", "AOTRITON_"}) {
    if (name.starts_with(begin)) return true;
  }
  return name == "LD_LIBRARY_PATH" || name == "DISABLE_ADDMM_HIP_LT" || name == "WORLD_SIZE";
}

}  // namespace cinnabar::hardware
