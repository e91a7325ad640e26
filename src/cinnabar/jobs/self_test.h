// Runs the engine's self-test: in its process, with its environment, so that a kernel that crashes ends nothing else.
#pragma once

#include <functional>
#include <string>

#include "cinnabar/hardware/self_test_report.h"
#include "cinnabar/jobs/engine.h"

namespace cinnabar::jobs {

// `device`: the words of the option. `begun`, which may be empty, is told what is being computed. Never throws for what
// the engine does: a crash, an error or silence for ten minutes becomes the report's problem, with the kernel that was
// running and what is known of such failures. Throws Error{Io} when the engine cannot be started.
hardware::SelfTestReport run_self_test(const Engine& engine, const std::string& device,
                                       const std::function<void(const std::string&)>& begun);

}  // namespace cinnabar::jobs
