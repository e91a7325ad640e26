// The catalogue of known failures on GPUs: what a message means, and what to do. Messages of the engine, of libtorch
// and of the drivers' libraries are matched where they reach the user.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::hardware {

struct FailureRow {
  int number;        // of the catalogue in docs/doctor.md
  const char* name;  // a few words
  // Alternatives parted by '|', each a list of texts parted by '&' that must all occur (ASCII case ignored).
  const char* patterns;
  const char* cause;
  const char* remedy;
  bool is_harmless = false;  // a message that need not be acted on
  // Symptoms without a message, by the name of what finds them: codes of doctor's warnings, or words such as
  // "first_step_slow" (symptom()).
  const char* symptoms = "";
};
std::span<const FailureRow> failure_rows();

struct Explanation {
  int number = 0;
  std::string name;
  std::string cause;
  std::string remedy;
  bool is_harmless = false;
};

// What is known of the machine where a message came up; all of it may be left out.
struct FailureContext {
  bool is_integrated = false;        // the GPU shares the system's memory
  int64_t unified_memory_bytes = 0;  // then: how much
};

struct Machine;
FailureContext failure_context(const Machine& machine);

// The row that fits a text best; nothing when none does. The text may be many lines.
std::optional<Explanation> explain_failure(std::string_view text, const FailureContext& context = {});
// For what has no message: a warning code of doctor, or one of the symptoms of the table.
std::optional<Explanation> explain_symptom(std::string_view symptom);

// "Known as: NAME. Cause: ... What to do: ..."
std::string to_string(const Explanation& explanation);

// The numbers of "out of memory" messages of libtorch, in bytes; 0: not said.
struct MemoryNumbers {
  double wanted = 0;
  double capacity = 0;
  double free = 0;
  double unallocated = 0;  // reserved by the allocator, in pieces that did not fit
};
MemoryNumbers memory_numbers(std::string_view text);

}  // namespace cinnabar::hardware
