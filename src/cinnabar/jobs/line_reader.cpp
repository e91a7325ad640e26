#include "cinnabar/jobs/line_reader.h"

#include <unistd.h>

#include <cerrno>

namespace cinnabar::jobs {

namespace {
constexpr size_t kMaxLine = size_t{1} << 20;
}

std::vector<std::string> LineReader::take() {
  std::vector<std::string> lines;
  char buffer[16384];
  const ssize_t count = ::read(source_.get(), buffer, sizeof(buffer));
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return lines;
  if (count <= 0) {
    is_open_ = false;
    if (!rest_.empty()) lines.push_back(std::move(rest_));
    rest_.clear();
    return lines;
  }
  rest_.append(buffer, static_cast<size_t>(count));
  size_t start = 0;
  for (size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', start)) {
    lines.push_back(rest_.substr(start, end - start));
    start = end + 1;
  }
  rest_.erase(0, start);
  if (rest_.size() > kMaxLine) {
    lines.push_back(rest_.substr(0, kMaxLine));
    rest_.clear();
  }
  return lines;
}

}  // namespace cinnabar::jobs
