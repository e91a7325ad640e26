#include "cinnabar/formats/torch_file.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "cinnabar/base/checked.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/mapped_file.h"
#include "cinnabar/base/mapping_guard.h"
#include "cinnabar/formats/pickle_reader.h"
#include "cinnabar/formats/safetensors_header.h"
#include "cinnabar/formats/zip_reader.h"

namespace cinnabar::formats {

namespace {

using base::Error;
using base::ErrorCode;
using Bytes = std::span<const std::byte>;

// Pickles of Stable Diffusion models have less than 2 MiB, with optimizer states some 10.
constexpr size_t kMaxPickleBytes = size_t{64} << 20;

class TorchFile : public Checkpoint {
 public:
  explicit TorchFile(const std::filesystem::path& path) : file_(path), guard_(file_.bytes(), path) {
    path_ = path;
    where_ = path.string();
    entries_ = read_stored_zip(file_.bytes(), where_);
    const std::string root = find_root();
    check_byte_order(root);
    const Bytes pickled = entries_.at(root + "data.pkl");
    if (pickled.size() > kMaxPickleBytes) refuse("pickle_over_limit", "its data.pkl has more than 64 MiB");
    // Copies may not exceed what the file itself takes, whatever its strides say.
    copy_budget_ = file_.bytes().size();
    for (const auto& [name, tensor] : read_pickled_tensors(pickled, where_)) {
      try {
        tensors_.emplace(name, view_of(name, tensor, root));
      } catch (const Error& error) {
        if (!error.context().empty()) throw;
        refuse("size_overflow", "tensor " + quote_name(name) + ": " + error.message());  // of checked arithmetic
      }
    }
    entries_.clear();
    guard_.check();
  }

  void check() const override { guard_.check(); }

 private:
  [[noreturn]] void refuse(const std::string& reason, const std::string& what) const {
    throw Error(ErrorCode::Format, where_ + ": not a usable file of torch.save: " + what, reason);
  }

  // The folder of the archive, with its slash.
  std::string find_root() const {
    std::string root;
    for (const auto& [name, bytes] : entries_) {
      const size_t slash = name.find('/');
      if (slash == std::string::npos || name.substr(slash + 1) != "data.pkl") continue;
      if (!root.empty()) refuse("two_pickles", "it has more than one data.pkl");
      root = name.substr(0, slash + 1);
    }
    if (root.empty()) refuse("no_pickle", "it is a zip archive without a data.pkl in one folder");
    if (entries_.contains(root + "constants.pkl")) {
      refuse("torch_script", "it is a TorchScript program, not a file of weights; save its state dict as safetensors");
    }
    return root;
  }

  void check_byte_order(const std::string& root) const {
    const auto found = entries_.find(root + "byteorder");
    if (found == entries_.end()) return;
    const std::string_view order(reinterpret_cast<const char*>(found->second.data()), found->second.size());
    if (order != "little") refuse("byte_order", "its numbers are not little-endian");
  }

  TensorView view_of(const std::string& name, const PickledTensor& tensor, const std::string& root) {
    const std::string title = "tensor " + quote_name(name);
    const uint64_t width = element_size(tensor.dtype);
    const auto entry = entries_.find(root + "data/" + tensor.storage_key);
    if (entry == entries_.end()) {
      refuse("no_storage",
             title + " lies in the storage " + quote_name(tensor.storage_key) + ", which the file has not");
    }
    const Bytes storage = entry->second;
    if (storage.size() != base::checked_mul(tensor.storage_size, width)) {
      refuse("storage_size", title + " has a storage of " + std::to_string(storage.size()) +
                                 " bytes, its description says " + std::to_string(tensor.storage_size) +
                                 " elements of " + std::to_string(width) + " bytes");
    }
    const uint64_t count = element_count(tensor, title);
    check_reach(tensor, count, title);
    TensorView view{tensor.dtype, tensor.shape, {}};
    if (count > 0) {
      const Bytes from_first = storage.subspan(tensor.offset * width);
      const bool is_aligned = reinterpret_cast<uintptr_t>(from_first.data()) % width == 0;
      view.bytes = is_aligned && is_contiguous(tensor) ? from_first.first(count * width)
                                                       : copy_of(tensor, from_first, count, title);
    }
    if (tensor.dtype == Dtype::Bool && count > 0 && !holds_booleans(tensor.storage_key, storage)) {
      refuse("bad_boolean", title + " is boolean, but its storage has bytes other than 0 and 1");
    }
    return view;
  }

  // Each storage is looked at once, however many tensors share it.
  bool holds_booleans(const std::string& key, Bytes storage) {
    const auto known = booleans_.find(key);
    if (known != booleans_.end()) return known->second;
    const bool is_fine =
        std::none_of(storage.begin(), storage.end(), [](std::byte b) { return std::to_integer<unsigned>(b) > 1; });
    booleans_.emplace(key, is_fine);
    return is_fine;
  }

  uint64_t element_count(const PickledTensor& tensor, const std::string& title) const {
    uint64_t count = 1;
    uint64_t strides = element_size(tensor.dtype);  // with 1 in the place of 0: must fit a signed number as well
    for (const int64_t size : tensor.shape) {
      count = base::checked_mul(count, static_cast<uint64_t>(size));
      strides = base::checked_mul(strides, static_cast<uint64_t>(std::max<int64_t>(size, 1)));
    }
    if (strides > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      refuse("size_overflow", title + " has a shape whose product overflows 63 bits");
    }
    return count;
  }

  // The last element that the strides reach must lie in the storage.
  void check_reach(const PickledTensor& tensor, uint64_t count, const std::string& title) const {
    if (count == 0) return;
    uint64_t last = tensor.offset;
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      last = base::checked_add(last, base::checked_mul(static_cast<uint64_t>(tensor.shape[i] - 1),
                                                       static_cast<uint64_t>(tensor.strides[i])));
    }
    if (last >= tensor.storage_size) refuse("outside_storage", title + " reaches beyond its storage");
  }

  static bool is_contiguous(const PickledTensor& tensor) {
    int64_t expected = 1;
    for (size_t i = tensor.shape.size(); i-- > 0;) {
      if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
      expected *= tensor.shape[i];
    }
    return true;
  }

  // Gathers the elements in row-major order.
  Bytes copy_of(const PickledTensor& tensor, Bytes from_first, uint64_t count, const std::string& title) {
    const uint64_t width = element_size(tensor.dtype);
    const uint64_t bytes = base::checked_mul(count, width);
    if (bytes > copy_budget_) refuse("expanded", title + " repeats its storage into more bytes than the file has");
    copy_budget_ -= bytes;
    auto copy = std::make_unique<std::byte[]>(bytes);
    std::vector<int64_t> index(tensor.shape.size(), 0);
    uint64_t source = 0;  // elements
    for (uint64_t i = 0; i < count; ++i) {
      std::memcpy(copy.get() + i * width, from_first.data() + source * width, width);
      for (size_t d = tensor.shape.size(); d-- > 0;) {
        source += static_cast<uint64_t>(tensor.strides[d]);
        if (++index[d] < tensor.shape[d]) break;
        source -= static_cast<uint64_t>(tensor.strides[d]) * static_cast<uint64_t>(tensor.shape[d]);
        index[d] = 0;
      }
    }
    const Bytes result(copy.get(), bytes);
    copies_.push_back(std::move(copy));
    return result;
  }

  base::MappedFile file_;
  base::MappingGuard guard_;
  std::string where_;
  std::map<std::string, Bytes> entries_;
  uint64_t copy_budget_ = 0;
  std::map<std::string, bool> booleans_;
  std::vector<std::unique_ptr<std::byte[]>> copies_;
};

}  // namespace

std::unique_ptr<Checkpoint> open_torch_file(const std::filesystem::path& path) {
  return std::make_unique<TorchFile>(path);
}

}  // namespace cinnabar::formats
