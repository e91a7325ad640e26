// From a description of a data set to its samples: lists, probes, captions and buckets, with everything that is wrong.
#pragma once

#include <functional>

#include "cinnabar/data/dataset.h"
#include "cinnabar/data/regularisation.h"

namespace cinnabar::data {

struct ScanOptions {
  size_t threads = 0;  // 0: as many as the machine has cores
  // Decodes a picture and returns why it cannot, or "". Without it, files that seem cut off are left out undecoded.
  std::function<std::string(const std::filesystem::path&)> decode_failure{};
  bool decodes_all = false;  // not only files that seem cut off
  // Where what is found out is kept for the next scan (scan_index.h), one file a folder of pictures; empty: nowhere.
  std::filesystem::path index_folder{};
  std::function<void(int64_t done, int64_t total)> progress{};
};

// Reads every picture's header, the marks of its end and its caption file, several at a time; the result does not
// depend on the number of threads, nor on an index. Unreadable pictures are left out and reported. Nothing is thrown
// for what is on the disk; Error{Config} for options.
Dataset scan_dataset(const DatasetOptions& options, const ScanOptions& scan = {});

}  // namespace cinnabar::data
