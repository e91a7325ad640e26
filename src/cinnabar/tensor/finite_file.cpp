#include "cinnabar/tensor/finite_file.h"

#include <cstring>
#include <vector>

#include <ATen/Parallel.h>

#include "cinnabar/base/error.h"
#include "cinnabar/base/mapped_pages.h"

namespace cinnabar::tensor {

namespace {

constexpr size_t kNamed = 3;

// NaN and infinities have all exponent bits set. No early end, so that the loop is vectorised.
template <class Word>
bool has_full_exponent(std::span<const std::byte> bytes, Word exponent) {
  bool is_found = false;
  for (size_t at = 0; at + sizeof(Word) <= bytes.size(); at += sizeof(Word)) {
    Word word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    is_found |= static_cast<Word>(word & exponent) == exponent;
  }
  return is_found;
}

}  // namespace

bool is_floating(formats::Dtype dtype) {
  using formats::Dtype;
  return dtype == Dtype::F64 || dtype == Dtype::F32 || dtype == Dtype::F16 || dtype == Dtype::BF16 ||
         dtype == Dtype::F8E4M3 || dtype == Dtype::F8E5M2;
}

bool is_finite(const formats::TensorView& view) {
  switch (view.dtype) {
    case formats::Dtype::F64:
      return !has_full_exponent<uint64_t>(view.bytes, 0x7FF0'0000'0000'0000U);
    case formats::Dtype::F32:
      return !has_full_exponent<uint32_t>(view.bytes, 0x7F80'0000U);
    case formats::Dtype::F16:
      return !has_full_exponent<uint16_t>(view.bytes, 0x7C00U);
    case formats::Dtype::BF16:
      return !has_full_exponent<uint16_t>(view.bytes, 0x7F80U);
    case formats::Dtype::F8E4M3:  // has no infinities; only all bits set is NaN
      return !has_full_exponent<uint8_t>(view.bytes, 0x7FU);
    case formats::Dtype::F8E5M2:
      return !has_full_exponent<uint8_t>(view.bytes, 0x7CU);
    default:
      return true;
  }
}

bool check_finite_file(const formats::Checkpoint& file, bool is_allowed, base::EventSink& events) {
  std::vector<const std::pair<const std::string, formats::TensorView>*> tensors;
  for (const auto& entry : file.tensors()) {
    if (is_floating(entry.second.dtype)) tensors.push_back(&entry);
  }
  std::vector<char> is_bad(tensors.size(), 0);
  at::parallel_for(0, static_cast<int64_t>(tensors.size()), 1, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      is_bad[i] = is_finite(tensors[i]->second) ? 0 : 1;
      // A look at the file must not be the run's peak of memory.
      base::drop_pages(tensors[i]->second.bytes);
    }
  });
  file.check();
  size_t count = 0;
  std::string names;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (is_bad[i] == 0) continue;
    if (count < kNamed) names += (count == 0 ? "" : ", ") + tensors[i]->first;
    ++count;
  }
  if (count == 0) return true;
  if (count > kNamed) names += " and " + std::to_string(count - kNamed) + " more";
  const std::string found = file.path().string() + ": " + std::to_string(count) +
                            (count == 1 ? " tensor holds" : " tensors hold") + " NaN or infinite values (" + names +
                            "). The file is damaged, or was saved by a training that had diverged";
  if (!is_allowed) {
    throw base::Error(base::ErrorCode::Format,
                      found + ": use another copy, or --allow_nonfinite to go on with it nevertheless");
  }
  events.warning(found + "; it is used because of allow_nonfinite");
  return false;
}

}  // namespace cinnabar::tensor
