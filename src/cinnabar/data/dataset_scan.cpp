#include "cinnabar/data/dataset_scan.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <set>
#include <thread>

#include "cinnabar/base/error.h"
#include "cinnabar/data/folder_dataset.h"
#include "cinnabar/data/picture_probe.h"

namespace cinnabar::data {

namespace {

namespace fs = std::filesystem;

// A picture enlarged more than this in each direction looks soft, and is reported.
constexpr double kLargestEnlargement = 2.0;

struct Candidate {
  fs::path path;
  size_t subset = 0;
};

// What one picture gives; filled by whichever thread takes it.
struct Finding {
  std::optional<Sample> sample;
  std::vector<Issue> issues;
  bool is_caption_from_txt = false;
  bool has_empty_caption_file = false;
};

bool is_empty_file(const fs::path& picture, const std::string& extension) {
  for (const fs::path& file : caption_candidates(picture, extension)) {
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored)) return fs::file_size(file, ignored) == 0;
  }
  return false;
}

// False: the caption cannot be used, so that the picture is left out.
bool find_caption(const SubsetOptions& subset, Sample& sample, Finding& finding) {
  std::vector<std::string> extensions = {subset.caption_extension.value_or(".caption")};
  if (!subset.caption_extension) extensions.push_back(".txt");
  sample.caption = subset.class_tokens;
  sample.caption_origin = subset.class_tokens.empty() ? CaptionOrigin::None : CaptionOrigin::ClassTokens;
  for (const std::string& extension : extensions) {
    if (is_empty_file(sample.path, extension)) {
      finding.has_empty_caption_file = true;
      return true;
    }
    const auto caption =
        read_caption(sample.path, {.extension = extension, .keeps_lines = subset.caption.enable_wildcard});
    if (!caption) {
      finding.issues.push_back(
          {Severity::Warning, sample.path, "its caption cannot be used: " + caption.error().message(), "left out"});
      return false;
    }
    if (caption.value().origin != CaptionOrigin::File) continue;
    if (caption.value().had_byte_order_mark) {
      finding.issues.push_back(
          {Severity::Info, caption.value().file, "begins with a byte order mark", "read without it"});
    }
    sample.caption = caption.value().text;
    sample.caption_origin = CaptionOrigin::File;
    finding.is_caption_from_txt = !subset.caption_extension && extension == ".txt";
    return true;
  }
  return true;
}

// Larger than 1: the picture has to grow to cover its bucket.
double enlargement(const Sample& sample) {
  return std::min(static_cast<double>(sample.bucket.resized.width) / static_cast<double>(sample.size.width),
                  static_cast<double>(sample.bucket.resized.height) / static_cast<double>(sample.size.height));
}

Finding examine(const Candidate& candidate, const SubsetOptions& subset, const BucketRule& rule) {
  Finding finding;
  try {
    const PictureInfo info = probe_picture(candidate.path);
    for (const std::string& note : info.notes) finding.issues.push_back({Severity::Info, candidate.path, note, "used"});
    if (info.is_cut_off) {
      finding.issues.push_back({Severity::Warning, candidate.path, "the end of the file seems to be missing",
                                "used if it can be decoded, else left out"});
    }
    Sample sample{.path = candidate.path,
                  .size = info.upright,
                  .bucket = rule.choose(info.upright),
                  .repeats = subset.num_repeats,
                  .is_reg = subset.is_reg,
                  .subset = candidate.subset};
    if (!find_caption(subset, sample, finding)) return finding;
    const double factor = enlargement(sample);
    if (factor > kLargestEnlargement) {
      finding.issues.push_back(
          {Severity::Warning, candidate.path,
           "its " + to_string(sample.size) + " pixels are few for a bucket of " + to_string(sample.bucket.bucket),
           "enlarged " + std::to_string(factor).substr(0, 4) + " times"});
    }
    finding.sample = std::move(sample);
  } catch (const base::Error& error) {
    finding.issues.push_back({Severity::Warning, candidate.path, error.message(), "left out"});
  }
  return finding;
}

std::vector<Finding> examine_all(const std::vector<Candidate>& candidates, const std::vector<SubsetOptions>& subsets,
                                 const BucketRule& rule, size_t threads) {
  std::vector<Finding> findings(candidates.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < candidates.size(); i = next++) {
      findings[i] = examine(candidates[i], subsets[candidates[i].subset], rule);
    }
  };
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> others;
  for (size_t i = 1; i < std::min(threads, candidates.size()); ++i) others.emplace_back(work);
  work();
  others.clear();  // joins
  return findings;
}

// Checks one subset's folder and appends its pictures.
void list_subset(const DatasetOptions& options, size_t index, std::set<fs::path>& seen,
                 std::vector<Candidate>& candidates, std::vector<Issue>& issues) {
  const SubsetOptions& subset = options.subsets[index];
  const fs::path& folder = subset.image_dir;
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    issues.push_back({Severity::Error, folder, fs::exists(folder, error) ? "not a folder" : "no such folder",
                      "the run cannot start; correct image_dir"});
    return;
  }
  if (subset.num_repeats < 1) {
    issues.push_back({Severity::Warning, folder,
                      "num_repeats = " + std::to_string(subset.num_repeats) + "; expected at least 1",
                      "the folder is left out"});
    return;
  }
  fs::path real = fs::canonical(folder, error);
  if (!seen.insert(error ? folder : real).second) {
    issues.push_back(
        {Severity::Warning, folder, "the folder stands twice in one data set", "used once, with the first options"});
    return;
  }
  try {
    const FolderListing listing = list_folder(folder, issues);
    for (const auto& [extension, count] : listing.other_files) {
      issues.push_back(
          {Severity::Info, folder,
           std::to_string(count) + " files with extension " + extension + " are no pictures this program reads",
           "left out"});
    }
    if (!listing.folders.empty()) {
      issues.push_back(
          {Severity::Info, folder, std::to_string(listing.folders.size()) + " folders lie inside", "not entered"});
    }
    if (listing.pictures.empty()) issues.push_back({Severity::Warning, folder, "holds no pictures", "left out"});
    for (const fs::path& path : listing.pictures) candidates.push_back({path, index});
  } catch (const base::Error& failure) {
    issues.push_back({Severity::Error, folder, failure.message(), "the run cannot start; check the permissions"});
  }
}

// "a.png, b.png and 7 more".
std::string some_names(const std::vector<fs::path>& paths) {
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t i = 0; i < std::min(kShown, paths.size()); ++i)
    text += (i == 0 ? "" : ", ") + paths[i].filename().string();
  if (paths.size() > kShown) text += " and " + std::to_string(paths.size() - kShown) + " more";
  return text;
}

// Findings that would be one line a picture are told once a folder.
void report_captions(const DatasetOptions& options, const std::vector<Candidate>& candidates,
                     const std::vector<Finding>& findings, std::vector<Issue>& issues) {
  for (size_t index = 0; index < options.subsets.size(); ++index) {
    const SubsetOptions& subset = options.subsets[index];
    std::vector<fs::path> missing, empty, from_txt;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i].subset != index || !findings[i].sample) continue;
      if (findings[i].has_empty_caption_file) {
        empty.push_back(candidates[i].path);
      } else if (findings[i].sample->caption_origin != CaptionOrigin::File) {
        missing.push_back(candidates[i].path);
      }
      if (findings[i].is_caption_from_txt) from_txt.push_back(candidates[i].path);
    }
    const std::string action = subset.class_tokens.empty() ? "used with an empty caption"
                                                           : "used with the caption \"" + subset.class_tokens + "\"";
    const std::string extension = subset.caption_extension.value_or(".caption or .txt");
    if (!missing.empty()) {
      issues.push_back(
          {Severity::Warning, subset.image_dir,
           std::to_string(missing.size()) + " pictures have no " + extension + " file: " + some_names(missing),
           action});
    }
    if (!empty.empty()) {
      issues.push_back({Severity::Warning, subset.image_dir,
                        std::to_string(empty.size()) + " pictures have an empty caption file: " + some_names(empty),
                        action});
    }
    if (!from_txt.empty()) {
      issues.push_back({Severity::Info, subset.image_dir,
                        std::to_string(from_txt.size()) + " captions come from .txt files",
                        "used; set caption_extension to choose one kind"});
    }
  }
}

void drop_unreached(Dataset& dataset) {
  const bool has_reg = std::ranges::any_of(dataset.options.subsets, &SubsetOptions::is_reg);
  const bool has_reg_samples = std::ranges::any_of(dataset.samples, &Sample::is_reg);
  if (has_reg && !has_reg_samples) {
    dataset.issues.push_back({Severity::Warning, {}, "no regularisation picture can be used", "trained without"});
  }
  balance_regularisation(dataset.samples);
  const auto removed = std::erase_if(dataset.samples, [](const Sample& sample) { return sample.repeats == 0; });
  if (removed > 0) {
    dataset.issues.push_back(
        {Severity::Info,
         {},
         std::to_string(removed) + " regularisation pictures are more than the training pictures need",
         "left out"});
  }
}

}  // namespace

bool Dataset::has_errors() const {
  return std::ranges::any_of(issues, [](const Issue& issue) { return issue.severity == Severity::Error; });
}

int64_t Dataset::item_count() const {
  return std::accumulate(samples.begin(), samples.end(), int64_t{0},
                         [](int64_t sum, const Sample& sample) { return sum + sample.repeats; });
}

Dataset scan_dataset(const DatasetOptions& options, const ScanOptions& scan) {
  if (options.batch_size < 1) {
    throw base::Error(base::ErrorCode::Config,
                      "batch_size = " + std::to_string(options.batch_size) + ": expected at least 1");
  }
  Dataset dataset{.options = options};
  std::vector<std::string> notes;
  dataset.options.bucket = prepared(options.bucket, notes);
  for (const std::string& note : notes) dataset.issues.push_back({Severity::Info, {}, note, "used so"});
  const BucketRule rule(dataset.options.bucket);
  std::vector<Candidate> candidates;
  std::set<fs::path> seen;
  for (size_t i = 0; i < options.subsets.size(); ++i) list_subset(dataset.options, i, seen, candidates, dataset.issues);
  std::vector<Finding> findings = examine_all(candidates, options.subsets, rule, scan.threads);
  for (const Finding& finding : findings) {
    dataset.issues.insert(dataset.issues.end(), finding.issues.begin(), finding.issues.end());
  }
  report_captions(dataset.options, candidates, findings, dataset.issues);
  for (Finding& finding : findings) {
    if (finding.sample) dataset.samples.push_back(std::move(*finding.sample));
  }
  drop_unreached(dataset);
  if (dataset.samples.empty() && !dataset.has_errors()) {
    const fs::path place = options.subsets.empty() ? fs::path() : options.subsets.front().image_dir;
    dataset.issues.push_back({Severity::Error, place, "no picture can be used", "the run cannot start"});
  }
  return dataset;
}

void balance_regularisation(std::vector<Sample>& samples) {
  int64_t wanted = 0;
  std::vector<Sample*> reg;
  for (Sample& sample : samples) {
    if (sample.is_reg) {
      reg.push_back(&sample);
    } else {
      wanted += sample.repeats;
    }
  }
  int64_t total = 0;
  for (Sample* sample : reg) {
    if (total >= wanted) {
      sample->repeats = 0;
    }
    total += sample->repeats;
  }
  while (!reg.empty() && total < wanted) {
    for (size_t i = 0; i < reg.size() && total < wanted; ++i, ++total) ++reg[i]->repeats;
  }
}

}  // namespace cinnabar::data
