#include "cinnabar/base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <memory>

namespace cinnabar::base {

namespace {

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = spdlog::stderr_logger_mt("cinnabar");
    made->set_pattern("%H:%M:%S %l %v");
    if (std::getenv("CINNABAR_DEBUG") != nullptr) made->set_level(spdlog::level::debug);
    return made;
  }();
  return *instance;
}

}  // namespace

void log_info(std::string_view message) { logger().info("{}", message); }
void log_warning(std::string_view message) { logger().warn("{}", message); }
void log_debug(std::string_view message) { logger().debug("{}", message); }

}  // namespace cinnabar::base
