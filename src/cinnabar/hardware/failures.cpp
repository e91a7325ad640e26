#include "cinnabar/hardware/failures.h"

#include <algorithm>

#include "cinnabar/hardware/advice.h"
#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace {

constexpr int kFullMemory = 5;
constexpr int kPieces = 6;
constexpr int kSharedMemory = 35;
// Of the GPU's memory; below it fragmentation is no explanation.
constexpr double kManyPieces = 0.1;

// Length of the longest alternative that occurs, 0: none. Longer texts are more particular.
size_t fit(std::string_view patterns, std::string_view text) {
  size_t best = 0;
  if (patterns.empty()) return best;
  for (const std::string& alternative : parts_of(patterns, '|')) {
    const std::vector<std::string> parts = parts_of(alternative, '&');
    const bool is_there =
        std::all_of(parts.begin(), parts.end(), [&](const std::string& part) { return contains_words(text, part); });
    if (is_there) best = std::max(best, alternative.size());
  }
  return best;
}

Explanation from(const FailureRow& row) { return {row.number, row.name, row.cause, row.remedy, row.is_harmless}; }

const FailureRow& row_at(int number) {
  const auto rows = failure_rows();
  return *std::find_if(rows.begin(), rows.end(), [&](const FailureRow& row) { return row.number == number; });
}

// The size before `mark`, going back over one number and its unit: "12.50 GiB is free".
double size_before(std::string_view text, std::string_view mark) {
  const size_t end = text.find(mark);
  if (end == std::string_view::npos) return 0;
  std::string_view head = text.substr(0, end);
  const size_t unit = head.find_last_not_of(' ');
  if (unit == std::string_view::npos) return 0;
  const size_t blank = head.rfind(' ', unit);
  if (blank == std::string_view::npos || blank == 0) return 0;
  const size_t start = head.find_last_of(" (", blank - 1);
  const auto number = number_of(head.substr(start == std::string_view::npos ? 0 : start + 1));
  const std::string name = lowered(trimmed(head.substr(blank)));
  const double factor = name == "gib" ? 1073741824.0 : name == "mib" ? 1048576.0 : name == "kib" ? 1024.0 : 1.0;
  return number.value_or(0) * factor;
}

double size_after(std::string_view text, std::string_view mark) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return 0;
  const std::string_view tail = text.substr(at + mark.size());
  const auto number = number_of(tail);
  const std::vector<std::string> words = parts_of(trimmed(tail.substr(0, 32)), ' ');
  const std::string unit = words.size() > 1 ? lowered(words[1]).substr(0, 3) : "";
  const double factor = unit == "gib" ? 1073741824.0 : unit == "mib" ? 1048576.0 : unit == "kib" ? 1024.0 : 1.0;
  return number.value_or(0) * factor;
}

// A full memory has three readings, which its numbers tell apart.
int kind_of_full_memory(std::string_view text, const FailureContext& context) {
  const MemoryNumbers numbers = memory_numbers(text);
  const auto shared = static_cast<double>(context.unified_memory_bytes);
  if (context.is_integrated && numbers.capacity > 0 && numbers.capacity < 0.5 * shared) return kSharedMemory;
  const bool would_fit = numbers.unallocated >= numbers.wanted && numbers.wanted > 0;
  if (would_fit && numbers.unallocated >= kManyPieces * numbers.capacity) return kPieces;
  return kFullMemory;
}

}  // namespace

MemoryNumbers memory_numbers(std::string_view text) {
  return {.wanted = size_after(text, "Tried to allocate"),
          .capacity = size_after(text, "total capacity of"),
          .free = size_before(text, " is free"),
          .unallocated = size_before(text, " is reserved by PyTorch but unallocated")};
}

FailureContext failure_context(const Machine& machine) {
  const Gpu* gpu = advised_gpu(machine);
  if (gpu == nullptr) return {};
  return {.is_integrated = gpu->is_integrated, .unified_memory_bytes = gpu->unified_memory_bytes.value_or(0)};
}

std::optional<Explanation> explain_failure(std::string_view text, const FailureContext& context) {
  const FailureRow* best = nullptr;
  size_t length = 0;
  for (const FailureRow& row : failure_rows()) {
    const size_t size = fit(row.patterns, text);
    if (size == 0) continue;
    // What must be acted on goes before what is harmless, whatever its length.
    const bool is_better = best == nullptr || (best->is_harmless && !row.is_harmless) ||
                           (best->is_harmless == row.is_harmless && size > length);
    if (!is_better) continue;
    best = &row;
    length = size;
  }
  if (best == nullptr) return std::nullopt;
  if (best->number == kFullMemory) return from(row_at(kind_of_full_memory(text, context)));
  return from(*best);
}

std::optional<Explanation> explain_symptom(std::string_view symptom) {
  for (const FailureRow& row : failure_rows()) {
    const std::vector<std::string> names = parts_of(row.symptoms, '|');
    if (!symptom.empty() && std::find(names.begin(), names.end(), symptom) != names.end()) return from(row);
  }
  return std::nullopt;
}

std::string to_string(const Explanation& explanation) {
  return "Known as \"" + explanation.name + "\": " + explanation.cause +
         (explanation.is_harmless ? " " : " What to do: ") + explanation.remedy;
}

}  // namespace cinnabar::hardware
