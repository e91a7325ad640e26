// The C libraries behind nvidia-smi, amd-smi and rocm-smi, opened at run time, for machines that have them without the
// tools (libtorch's ROCm builds carry librocm_smi64). What they say is written as the tool would print it.
#pragma once

#include <string>

namespace cinnabar::hardware {

// `library`: a file name for dlopen; "" tries the usual names. Empty text: no such library, or it finds nothing. Calls
// into foreign code: run it in a process of its own.
std::string nvml_text(const std::string& library = "");      // as nvidia-smi --query-gpu=... --format=csv
std::string amd_smi_text(const std::string& library = "");   // as amd-smi list, static and metric --json, in one list
std::string rocm_smi_text(const std::string& library = "");  // as rocm-smi ... --json

}  // namespace cinnabar::hardware
