#include "cinnabar/base/fault_point.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>

namespace cinnabar::base {

namespace {

struct FaultText {
  std::string kind;
  std::string name;
  int64_t time = 1;
  bool is_sticky = false;
};

FaultText fault_from_environment() {
  const char* text = std::getenv("CINNABAR_FAULT");
  if (text == nullptr) return {};
  const std::string all = text;
  FaultText fault;
  const size_t cut = all.find('@');
  if (cut == std::string::npos) return {};
  fault.kind = all.substr(0, cut);
  fault.name = all.substr(cut + 1);
  if (const size_t colon = fault.name.find(':'); colon != std::string::npos) {
    fault.time = std::strtoll(fault.name.c_str() + colon + 1, nullptr, 10);
    fault.is_sticky = fault.name.ends_with('+');
    fault.name.resize(colon);
  }
  return fault;
}

}  // namespace

bool fault_point(std::string_view name) {
  static const FaultText fault = fault_from_environment();
  if (fault.name.empty() || fault.name != name) return false;
  static std::atomic<int64_t> times{0};
  const int64_t time = ++times;
  if (time != fault.time && !(fault.is_sticky && time > fault.time)) return false;
  if (fault.kind == "memory") throw std::bad_alloc();
  while (fault.kind == "hang") std::this_thread::sleep_for(std::chrono::seconds(1));
  return fault.kind == "nan";
}

}  // namespace cinnabar::base
