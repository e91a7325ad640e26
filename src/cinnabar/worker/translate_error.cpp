#include "cinnabar/worker/translate_error.h"

#include <c10/util/Exception.h>

#include <new>
#include <string>

#include "cinnabar/tensor/memory_error.h"

namespace cinnabar::worker {

namespace {

using base::Error;
using base::ErrorCode;

// libtorch appends a stack and build notes; the first line says it all.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

bool holds(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

Error out_of_memory(const std::string& what) {
  return {ErrorCode::OutOfMemory,
          "memory ran out: " + what +
              ". Less memory, most effective first: --gradient_checkpointing, a smaller --train_batch_size "
              "(with --gradient_accumulation_steps for the same effect), --mixed_precision bf16, --cache_latents, a "
              "smaller "
              "--resolution"};
}

Error from_torch(const c10::Error& error) {
  const std::string text = first_line(error.what_without_backtrace());
  if (tensor::is_out_of_memory(error)) return out_of_memory(text);
  const bool is_device = holds(text, "HIP error") || holds(text, "CUDA error") || holds(text, "device-side assert") ||
                         holds(text, "AcceleratorError");
  if (is_device) {
    return {ErrorCode::Device, "the device failed: " + text +
                                   ". The run can go on from the last save; if this repeats, look at the "
                                   "system log and the driver, or give --device cpu"};
  }
  return {ErrorCode::Internal,
          "internal error in the engine: " + text + "; this is a bug in Cinnabar, please report it",
          error.what_without_backtrace()};
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
    return {ErrorCode::Internal,
            std::string("internal error: ") + error.what() + "; this is a bug in Cinnabar, please report it"};
  }
}

}  // namespace cinnabar::worker
