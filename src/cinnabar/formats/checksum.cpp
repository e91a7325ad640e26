#include "cinnabar/formats/checksum.h"

#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "cinnabar/base/thread_start.h"

namespace cinnabar::formats {

namespace {

constexpr size_t kBytesPerThread = size_t{16} << 20;  // below that a thread costs more than it saves

uint32_t crc_of_part(std::span<const std::byte> bytes) {
  // The pointer of an empty range may be null, which zlib takes for a request to start.
  const uLong start = crc32_z(0, nullptr, 0);
  if (bytes.empty()) return static_cast<uint32_t>(start);
  return static_cast<uint32_t>(crc32_z(start, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

}  // namespace

uint32_t crc32_of(std::span<const std::byte> bytes) {
  const size_t most = std::max(1U, std::thread::hardware_concurrency());
  const size_t count = std::clamp<size_t>(bytes.size() / kBytesPerThread, 1, most);
  const size_t part = (bytes.size() + count - 1) / count;
  std::vector<uint32_t> sums(count);
  const auto part_of = [&](size_t i) {
    const size_t from = std::min(i * part, bytes.size());
    return bytes.subspan(from, std::min(part, bytes.size() - from));
  };
  {
    std::atomic<size_t> next{0};
    const auto work = [&] {
      for (size_t i = next++; i < count; i = next++) sums[i] = crc_of_part(part_of(i));
    };
    std::vector<std::jthread> threads;
    base::start_threads(threads, count - 1, work);
    work();
  }
  uLong sum = sums[0];
  for (size_t i = 1; i < count; ++i) sum = crc32_combine(sum, sums[i], static_cast<z_off_t>(part_of(i).size()));
  return static_cast<uint32_t>(sum);
}

}  // namespace cinnabar::formats
