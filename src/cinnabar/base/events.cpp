#include "cinnabar/base/events.h"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>

namespace cinnabar::base {

namespace {

using nlohmann::json;

// Invalid UTF-8 (a file name, say) becomes a replacement character instead of an exception.
std::string to_line(const json& event) { return event.dump(-1, ' ', false, json::error_handler_t::replace); }

// JSON has no NaN or infinity: they go out as text, so that a lost run is visible in its own record.
json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : (value > 0 ? "inf" : "-inf");
}

void put(json& event, const char* key, const std::optional<double>& value) {
  if (value) event[key] = number(*value);
}

json with_text(const char* type, std::string_view text) { return {{"type", type}, {"text", text}}; }

}  // namespace

void EventSink::send(const std::string& line) {
  const std::lock_guard lock(mutex_);
  write(line);
}

void EventSink::phase(std::string_view text) { send(to_line(with_text("phase", text))); }
void EventSink::log(std::string_view text) { send(to_line(with_text("log", text))); }
void EventSink::warning(std::string_view text) { send(to_line(with_text("warning", text))); }

void EventSink::progress(const Progress& state) {
  json event = {{"type", "progress"}, {"phase", state.phase}, {"step", state.step}, {"total", state.total}};
  if (state.epoch > 0) event["epoch"] = state.epoch;
  if (state.epochs > 0) event["epochs"] = state.epochs;
  put(event, "loss", state.loss);
  put(event, "average_loss", state.average_loss);
  put(event, "learning_rate", state.learning_rate);
  put(event, "grad_norm", state.grad_norm);
  put(event, "steps_per_s", state.steps_per_s);
  put(event, "left_s", state.left_s);
  if (state.memory_bytes) event["memory_bytes"] = *state.memory_bytes;
  send(to_line(event));
}

void EventSink::saved(const std::filesystem::path& path, std::string_view kind, int64_t step, int64_t epoch) {
  json event = {{"type", "saved"}, {"path", path.string()}, {"kind", kind}, {"step", step}};
  if (epoch > 0) event["epoch"] = epoch;
  send(to_line(event));
}

void EventSink::resumed(const std::filesystem::path& path, int64_t step, int64_t epoch) {
  send(to_line({{"type", "resumed"}, {"path", path.string()}, {"step", step}, {"epoch", epoch}}));
}

void EventSink::sample(const std::filesystem::path& path, std::string_view prompt, int64_t seed, int64_t step) {
  send(to_line({{"type", "sample"}, {"path", path.string()}, {"prompt", prompt}, {"seed", seed}, {"step", step}}));
}

void EventSink::result(const std::map<std::string, EventValue>& fields) {
  json event = {{"type", "result"}};
  for (const auto& [name, value] : fields) {
    std::visit(
        [&, key = name](const auto& held) {
          if constexpr (std::is_same_v<std::decay_t<decltype(held)>, double>) {
            event[key] = number(held);
          } else {
            event[key] = held;
          }
        },
        value);
  }
  send(to_line(event));
}

void EventSink::error(const Error& error) {
  json event = {{"type", "error"}, {"code", to_string(error.code())}, {"text", error.message()}};
  if (!error.context().empty()) event["context"] = error.context();
  send(to_line(event));
}

void DescriptorEvents::write(const std::string& line) noexcept {
  if (is_broken_) return;
  const std::string text = line + "\n";
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(fd_, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      is_broken_ = true;
      return;
    }
    done += static_cast<size_t>(count);
  }
}

}  // namespace cinnabar::base
