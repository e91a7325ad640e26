#include "cinnabar/data/dataset_scan.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#include "cinnabar/base/counted.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/thread_start.h"
#include "cinnabar/data/folder_dataset.h"
#include "cinnabar/data/picture_scan.h"
#include "cinnabar/data/preview_pictures.h"
#include "cinnabar/data/shared_names.h"

namespace cinnabar::data {

namespace {

namespace fs = std::filesystem;

struct Candidate {
  std::string path;
  size_t subset = 0;
};

struct Candidates {
  std::vector<Candidate> pictures;
  std::vector<SubsetPlace> places;  // by subset
};

std::vector<PictureFinding> examine_all(const Candidates& candidates, const std::vector<SubsetOptions>& subsets,
                                        const BucketRule& rule, const ScanOptions& scan) {
  const std::vector<Candidate>& pictures = candidates.pictures;
  std::vector<PictureFinding> findings(pictures.size());
  std::atomic<size_t> next{0};
  std::atomic<int64_t> done{0};
  std::mutex telling;
  const auto work = [&] {
    for (size_t i = next++; i < pictures.size(); i = next++) {
      const size_t subset = pictures[i].subset;
      findings[i] = scan_picture(pictures[i].path, subsets[subset], candidates.places[subset], rule, scan);
      if (findings[i].sample) findings[i].sample->subset = subset;
      const int64_t count = ++done;
      if (!scan.progress || count % 64 != 0) continue;
      const std::lock_guard<std::mutex> lock(telling);
      scan.progress(count, static_cast<int64_t>(pictures.size()));
    }
  };
  const size_t threads = scan.threads > 0 ? scan.threads : std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> others;
  base::start_threads(others, std::min(threads, std::max<size_t>(1, pictures.size())) - 1, work);
  work();
  others.clear();  // joins
  return findings;
}

void report_other_files(const fs::path& folder, const FolderListing& listing, std::vector<Issue>& issues) {
  for (const auto& [extension, count] : listing.other_files) {
    const bool is_picture = is_unsupported_picture_extension(extension);
    issues.push_back({is_picture ? Severity::Warning : Severity::Info, folder,
                      std::to_string(count) + " files with extension " + extension +
                          (is_picture ? " are pictures of a kind that this program cannot read; convert them"
                                      : " are no pictures this program reads"),
                      "left out", is_picture ? Treatment::LeftOut : Treatment::Used,
                      is_picture ? "unsupported_pictures" : "other_files"});
  }
}

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

// False: nothing can come from this subset.
bool check_folder(const SubsetOptions& subset, std::set<fs::path>& seen, std::vector<Issue>& issues) {
  const fs::path& folder = subset.image_dir;
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    issues.push_back({Severity::Error, folder, fs::exists(folder, error) ? "not a folder" : "no such folder",
                      "the run cannot start; correct image_dir", Treatment::Blocks, "missing_folder"});
    return false;
  }
  if (subset.num_repeats < 1) {
    issues.push_back({Severity::Warning, folder,
                      "num_repeats = " + std::to_string(subset.num_repeats) + "; expected at least 1",
                      "the folder is left out", Treatment::LeftOut, "no_repeats"});
    return false;
  }
  if (subset.num_repeats > kMostRepeats) {
    const std::string name = folder.filename().string();
    issues.push_back({Severity::Error, folder,
                      (name.starts_with(std::to_string(subset.num_repeats)) || subset.num_repeats == kHuge
                           ? "the name asks for more than "
                           : "num_repeats = " + std::to_string(subset.num_repeats) + " is more than ") +
                          std::to_string(kMostRepeats) + " repeats; is the number a date?",
                      "the run cannot start; for 1 repeat name the folder 1_" + name, Treatment::Blocks,
                      "many_repeats"});
    return false;
  }
  const fs::path real = fs::canonical(folder, error);
  if (!seen.insert(error ? folder : real).second) {
    issues.push_back({Severity::Warning, folder, "the folder stands twice in one data set",
                      "used once, with the first options", Treatment::LeftOut, "folder_twice"});
    return false;
  }
  return true;
}

void open_index(const fs::path& folder, const fs::path& index_folder, SubsetPlace& place, std::vector<Issue>& issues) {
  if (index_folder.empty()) return;
  const fs::path file = ScanIndex::file_for(index_folder, folder);
  place.index = std::make_shared<ScanIndex>(file, folder);
  if (place.index->problem().empty()) return;
  issues.push_back({Severity::Warning, file, "what earlier scans found out is not used: " + place.index->problem(),
                    "all pictures of " + folder.string() + " are read anew", Treatment::Used, "bad_index"});
}

void save_indexes(const Candidates& candidates, std::vector<Issue>& issues) {
  for (const SubsetPlace& place : candidates.places) {
    if (!place.index) continue;
    const std::string problem = place.index->save();
    if (problem.empty()) continue;
    issues.push_back({Severity::Info,
                      {},
                      "what was found out is not kept for the next scan: " + problem,
                      "the next scan reads all pictures again",
                      Treatment::Used,
                      "index_not_kept"});
    return;  // one folder for all, one reason
  }
}

// Checks one subset's folder and appends its pictures.
void list_subset(SubsetOptions& subset, size_t index, std::set<fs::path>& seen, Candidates& candidates,
                 const fs::path& index_folder, std::vector<Issue>& issues) {
  if (const fs::path written = path_as_written(subset.image_dir); written != subset.image_dir) {
    issues.push_back({Severity::Info, written, "the name is written with other forms of the same letters",
                      "used for " + subset.image_dir.string(), Treatment::Fixed, "composed_name"});
    subset.image_dir = written;
  }
  if (!check_folder(subset, seen, issues)) return;
  const fs::path& folder = subset.image_dir;
  try {
    FolderListing listing = subset.recursive ? list_folders_below(folder, issues) : list_folder(folder, issues);
    report_other_files(folder, listing, issues);
    if (!listing.folders.empty()) {
      issues.push_back({Severity::Info, folder, base::counted(listing.folders.size(), "folder") + " inside",
                        "not entered; give recursive to use them", Treatment::Used, "inner_folders"});
    }
    if (listing.pictures.empty()) {
      issues.push_back(
          {Severity::Warning, folder, "holds no pictures", "left out", Treatment::LeftOut, "empty_folder"});
    }
    for (std::string& path : listing.pictures) candidates.pictures.push_back({std::move(path), index});
    candidates.places[index].by_composed_path = std::move(listing.by_composed_path);
    open_index(folder, index_folder, candidates.places[index], issues);
  } catch (const base::Error& failure) {
    issues.push_back({Severity::Error, folder, failure.message(), "the run cannot start; check the permissions",
                      Treatment::Blocks, "unreadable_folder"});
  }
}

// What the captions of one subset's pictures have in common.
struct CaptionGroups {
  std::vector<fs::path> missing, empty, from_txt, skipped, other, marked;
};

// By subset.
std::vector<CaptionGroups> group_captions(const std::vector<SubsetOptions>& subsets, const Candidates& candidates,
                                          const std::vector<PictureFinding>& findings) {
  std::vector<CaptionGroups> all(subsets.size());
  for (size_t i = 0; i < findings.size(); ++i) {
    const PictureFinding& finding = findings[i];
    const auto& [path, subset] = candidates.pictures[i];
    CaptionGroups& groups = all[subset];
    const std::string& mark = subsets[subset].caption.keep_tokens_separator;
    if (finding.is_skipped) groups.skipped.push_back(path);
    if (!finding.sample) continue;
    if (finding.has_empty_caption_file) groups.empty.push_back(path);
    if (finding.has_no_caption) groups.missing.push_back(path);
    if (finding.is_caption_from_txt) groups.from_txt.push_back(path);
    if (!finding.other_caption.empty()) groups.other.push_back(finding.other_caption);
    if (!mark.empty() && finding.sample->caption.find(mark) != std::string::npos) groups.marked.push_back(path);
  }
  return all;
}

// Findings that would be one line a picture are told once a folder.
void report_captions(const SubsetOptions& subset, const CaptionGroups& groups, std::vector<Issue>& issues) {
  const std::string action = subset.class_tokens.empty() ? "used with an empty caption"
                                                         : "used with the caption \"" + subset.class_tokens + "\"";
  const std::string extension = subset.caption_extension.value_or(".caption or .txt");
  const auto add = [&](Severity severity, const std::vector<fs::path>& paths, const std::string& thing,
                       const std::string& what, const std::string& done, Treatment treatment, const char* kind) {
    if (paths.empty()) return;
    issues.push_back({severity, subset.image_dir,
                      base::counted(std::ssize(paths), thing) + what + ": " + some_names(paths), done, treatment,
                      kind});
  };
  add(Severity::Warning, groups.missing, "picture", " without a " + extension + " file", action, Treatment::Used,
      "no_caption");
  add(Severity::Warning, groups.empty, "picture", " with an empty caption file", action, Treatment::Used,
      "empty_caption");
  add(Severity::Warning, groups.other, "caption file", " would fit those pictures by another rule",
      "not used; set caption_extension, or face_captions for names that end in face coordinates", Treatment::Used,
      "other_caption");
  add(Severity::Warning, groups.skipped, "picture", " with no caption or an empty one", "left out (skip_uncaptioned)",
      Treatment::LeftOut, "skipped_caption");
  if (!groups.from_txt.empty()) {
    issues.push_back({Severity::Info, subset.image_dir,
                      base::counted(std::ssize(groups.from_txt), "caption") + " from .txt files",
                      "used; set caption_extension to choose one kind", Treatment::Used, "txt_captions"});
  }
  const CaptionOptions& caption = subset.caption;
  if (!caption.shuffle_caption && caption.caption_tag_dropout_rate <= 0.0 && caption.token_warmup_step <= 0.0) {
    add(Severity::Warning, groups.marked, "caption",
        " with keep_tokens_separator (\"" + caption.keep_tokens_separator +
            "\"), which is taken out only with shuffle_caption, caption_tag_dropout_rate or token_warmup_step",
        "it stays in the captions", Treatment::Used, "unused_separator");
  }
}

void report_regularisation(Dataset& dataset) {
  const bool has_reg = std::ranges::any_of(dataset.options.subsets, &SubsetOptions::is_reg);
  if (!has_reg) return;
  const RegularisationCount count = regularisation_count(dataset);
  if (count.pictures == 0) {
    dataset.issues.push_back({Severity::Warning,
                              {},
                              "no regularisation picture can be used",
                              "trained without",
                              Treatment::Used,
                              "no_regularisation"});
    return;
  }
  std::string message = "regularisation: " + base::counted(count.pictures, "picture") + ", " +
                        std::to_string(count.available) + " with repeats, for " +
                        base::counted(count.wanted, "training picture") + " with repeats";
  std::string action = std::to_string(count.used) + (count.used == 1 ? " is" : " are") +
                       " used an epoch, so that an epoch has " + base::counted(count.wanted + count.used, "picture");
  if (rotates(dataset)) action += "; which ones changes from epoch to epoch, by seed";
  dataset.issues.push_back({Severity::Info, {}, message, action, Treatment::Used, "regularisation"});
}

void report_shared_names(Dataset& dataset) {
  std::vector<const fs::path*> pictures;
  for (const Sample& sample : dataset.samples) pictures.push_back(&sample.path);
  for (Issue& issue : shared_name_issues(pictures)) dataset.issues.push_back(std::move(issue));
}

// An epoch's plan holds every item.
void report_length(Dataset& dataset) {
  const int64_t items = dataset.item_count();
  if (items <= kMostItems) return;
  dataset.issues.push_back({Severity::Error,
                            {},
                            "an epoch would hold " + std::to_string(items) + " pictures with repeats (" +
                                std::to_string(dataset.samples.size()) + " pictures); at most " +
                                std::to_string(kMostItems) + " are possible",
                            "the run cannot start; lower the repeats and train more epochs",
                            Treatment::Blocks,
                            "long_epoch"});
}

}  // namespace

std::string_view to_string(Treatment treatment) {
  constexpr std::string_view kNames[] = {"used", "fixed", "left out", "blocks"};
  return kNames[static_cast<size_t>(treatment)];
}

bool Dataset::has_errors() const {
  return std::ranges::any_of(issues, [](const Issue& issue) { return issue.severity == Severity::Error; });
}

int64_t Dataset::item_count() const {
  return std::accumulate(samples.begin(), samples.end(), int64_t{0},
                         [](int64_t sum, const Sample& sample) { return sum + sample.repeats; });
}

void remove_samples(Dataset& dataset, const std::vector<size_t>& indices) {
  const std::set<size_t> removed(indices.begin(), indices.end());
  size_t index = 0;
  std::erase_if(dataset.samples, [&](const Sample&) { return removed.contains(index++); });
  balance_regularisation(dataset);
}

Dataset scan_dataset(const DatasetOptions& options, const ScanOptions& scan) {
  if (options.batch_size < 1) {
    throw base::Error(base::ErrorCode::Config,
                      "batch_size = " + std::to_string(options.batch_size) + ": expected at least 1");
  }
  Dataset dataset{.options = options};
  std::vector<std::string> notes;
  dataset.options.bucket = prepared(options.bucket, notes);
  for (const std::string& note : notes) {
    dataset.issues.push_back({Severity::Info, {}, note, "used so", Treatment::Used, "bucket_sides"});
  }
  const BucketRule rule(dataset.options.bucket);
  std::vector<SubsetOptions>& subsets = dataset.options.subsets;
  Candidates candidates{.places = std::vector<SubsetPlace>(subsets.size())};
  std::set<fs::path> seen;
  for (size_t i = 0; i < subsets.size(); ++i) {
    list_subset(subsets[i], i, seen, candidates, scan.index_folder, dataset.issues);
  }
  std::vector<PictureFinding> findings = examine_all(candidates, subsets, rule, scan);
  save_indexes(candidates, dataset.issues);
  const std::vector<CaptionGroups> groups = group_captions(subsets, candidates, findings);
  for (size_t i = 0; i < subsets.size(); ++i) report_captions(subsets[i], groups[i], dataset.issues);
  for (PictureFinding& finding : findings) {
    dataset.issues.insert(dataset.issues.end(), finding.issues.begin(), finding.issues.end());
    if (finding.sample) dataset.samples.push_back(std::move(*finding.sample));
  }
  leave_out_previews(dataset);
  report_shared_names(dataset);
  balance_regularisation(dataset);
  report_regularisation(dataset);
  report_length(dataset);
  const bool has_training = std::ranges::any_of(dataset.samples, [](const Sample& sample) { return !sample.is_reg; });
  if (!has_training) {
    dataset.issues.push_back(
        {Severity::Error,
         {},
         "no picture can be used for training: " + std::to_string(candidates.pictures.size()) + " were found",
         "the run cannot start; see the findings above",
         Treatment::Blocks,
         "nothing_to_train"});
  }
  return dataset;
}

}  // namespace cinnabar::data
