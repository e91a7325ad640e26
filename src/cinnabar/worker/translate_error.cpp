#include "cinnabar/worker/translate_error.h"

#include <c10/util/Exception.h>

#include <new>
#include <string>
#include <system_error>

#include "cinnabar/hardware/detect.h"
#include "cinnabar/hardware/failures.h"
#include "cinnabar/hardware/process_limits.h"
#include "cinnabar/hardware/system_sources.h"

#include "cinnabar/tensor/memory_error.h"

namespace cinnabar::worker {

namespace {

using base::Error;
using base::ErrorCode;

bool holds(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

Error out_of_memory(const std::string& what) {
  const hardware::ProcessLimits limits = hardware::process_limits();
  // Under a limit of its own the process has less than the machine, whatever the run needs.
  if (limits.address_bytes) {
    return {ErrorCode::OutOfMemory, hardware::shortage_text(hardware::Shortage::Memory, limits) + " (" + what + ")"};
  }
  return {ErrorCode::OutOfMemory,
          "memory ran out: " + what +
              ". Less memory, most effective first: --gradient_checkpointing, a smaller --train_batch_size "
              "(with --gradient_accumulation_steps for the same effect), --mixed_precision bf16, --cache_latents, a "
              "smaller "
              "--resolution"};
}

// Cause and remedy of what the catalogue knows; "" for the rest, and for messages without weight.
std::string known(const std::string& text) {
  const bool is_memory = holds(text, "out of memory");
  // Only a full memory is read differently on an integrated GPU; the kernel's files tell at once.
  const hardware::FailureContext context =
      is_memory ? hardware::failure_context(hardware::detect(hardware::system_sources({}, false)))
                : hardware::FailureContext{};
  const auto explanation = hardware::explain_failure(text, context);
  return explanation && !explanation->is_harmless ? hardware::to_string(*explanation) : std::string();
}

Error device_fault(const std::string& what, const std::string& explanation) {
  const std::string advice =
      explanation.empty()
          ? "The run can go on from the last save; if this repeats, look at the system log and the driver, or "
            "give --device cpu"
          : explanation;
  return {ErrorCode::Device, "the device failed: " + what + ". " + advice};
}

Error from_torch(const c10::Error& error) {
  const std::string whole = error.what_without_backtrace();
  const std::string text = base::first_line(whole);
  const std::string explanation = known(whole);
  const bool is_memory = dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
                         holds(text, "out of memory") || holds(text, "not enough memory") ||
                         holds(text, "can't allocate memory");
  if (is_memory && explanation.empty()) return out_of_memory(text);
  if (is_memory) return {ErrorCode::OutOfMemory, "memory ran out: " + text + ". " + explanation};
  const bool is_device = holds(text, "HIP error") || holds(text, "CUDA error") || holds(text, "device-side assert") ||
                         holds(text, "AcceleratorError");
  if (is_device || !explanation.empty()) return device_fault(text, explanation);
  return {ErrorCode::Internal,
          "internal error in the engine: " + text + "; this is a bug in Cinnabar, please report it",
          error.what_without_backtrace()};
}

// What the system and libraries that know no error codes of ours say when memory or threads run out.
hardware::Shortage shortage_of(const std::exception& error) {
  if (const auto* system = dynamic_cast<const std::system_error*>(&error)) {
    if (system->code() == std::errc::resource_unavailable_try_again) return hardware::Shortage::Threads;
    if (system->code() == std::errc::not_enough_memory) return hardware::Shortage::Memory;
  }
  // oneDNN names what it could not make and not why; under a limit of addresses that is the reason.
  const bool is_onednn = holds(error.what(), "could not create a ");
  if (is_onednn && hardware::process_limits().address_bytes) return hardware::Shortage::Memory;
  return hardware::shortage_of(error.what());
}

}  // namespace

Error translate_current_exception() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const c10::Error& error) {
    return from_torch(error);
  } catch (const std::bad_alloc&) {
    return out_of_memory("the system gave none");
  } catch (const std::exception& error) {
    const hardware::Shortage shortage = shortage_of(error);
    if (shortage == hardware::Shortage::Memory) return out_of_memory(base::first_line(error.what()));
    if (shortage == hardware::Shortage::Threads)
      return {ErrorCode::OutOfMemory, hardware::shortage_text(shortage, hardware::process_limits())};
    const std::string explanation = known(error.what());
    if (!explanation.empty()) return device_fault(base::first_line(error.what()), explanation);
    return {ErrorCode::Internal,
            std::string("internal error: ") + error.what() + "; this is a bug in Cinnabar, please report it"};
  }
}

}  // namespace cinnabar::worker
