#include "cinnabar/data/picture_scan.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/path_kind.h"
#include "cinnabar/base/process.h"
#include "cinnabar/data/face_crop.h"
#include "cinnabar/data/folder_dataset.h"
#include "cinnabar/data/picture_end.h"
#include "cinnabar/data/picture_probe.h"

namespace cinnabar::data {

namespace {

namespace fs = std::filesystem;

// A picture enlarged more than this in each direction looks soft, and is reported.
constexpr double kLargestEnlargement = 2.0;

// Messages of readers begin with the file, which a report names already.
std::string without_path(std::string message, const fs::path& path) {
  const std::string prefix = path.string() + ": ";
  return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
}

// A file with its stamp; an empty path: there is none.
struct FoundFile {
  std::string path;
  FileStamp stamp{};
  base::Descriptor opened{};  // where it has to be read in any case
};

// What is known of a picture while it is looked at.
struct Knowledge {
  std::optional<IndexEntry> earlier{};  // of the index
  IndexEntry entry{};                   // what goes into it
  bool is_new = false;                  // the index does not have it so
};

// The file itself, or the one whose name looks alike.
FoundFile existing(const std::string& file, const SubsetPlace& place, bool opens) {
  struct stat info{};
  if (opens) {  // a call of the system less than asking first; O_NONBLOCK: a pipe must not wait for its writer
    base::Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (opened.is_open() && ::fstat(opened.get(), &info) == 0 && S_ISREG(info.st_mode))
      return {file, stamp_of(info), std::move(opened)};
  }
  // A place that cannot be looked at holds no caption.
  const bool is_absent = opens && errno == ENOENT;
  if (!is_absent && ::stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode)) return {file, stamp_of(info)};
  if (place.by_composed_path.empty()) return {};
  const auto found = place.by_composed_path.find(composed_path(file));
  if (found == place.by_composed_path.end() || ::stat(found->second.c_str(), &info) != 0) return {};
  return {found->second.string(), stamp_of(info)};
}

FoundFile caption_file(const fs::path& picture, const std::vector<std::string>& extensions, bool has_face_names,
                       const SubsetPlace& place, bool opens) {
  for (const std::string& extension : extensions) {
    for (const std::string& candidate : caption_candidates(picture, extension, has_face_names)) {
      if (FoundFile file = existing(candidate, place, opens); !file.path.empty()) return file;
    }
  }
  return {};
}

base::Result<Caption> read_caption(const FoundFile& file, bool keeps_lines) {
  if (!file.opened.is_open()) return read_caption_file(file.path, keeps_lines);
  try {
    const std::string content = base::read_open_file(file.opened.get(), file.stamp.size, file.path, kMaxCaptionBytes);
    return parse_caption_file(content, file.path, keeps_lines);
  } catch (const base::Error& error) {
    return error;
  }
}

// From the index when the file is the one that was read, else from the file.
base::Result<Caption> caption_of(const FoundFile& file, bool keeps_lines, Knowledge& known) {
  CaptionFacts facts{
      .name = file.path.substr(file.path.rfind('/') + 1), .stamp = file.stamp, .keeps_lines = keeps_lines};
  if (known.earlier && known.earlier->caption) {
    const CaptionFacts& earlier = *known.earlier->caption;
    if (earlier.name == facts.name && earlier.stamp == facts.stamp && earlier.keeps_lines == keeps_lines) {
      known.entry.caption = earlier;
      return Caption{.text = earlier.text,
                     .origin = CaptionOrigin::File,
                     .file = file.path,
                     .had_byte_order_mark = earlier.had_byte_order_mark};
    }
  }
  base::Result<Caption> caption = read_caption(file, keeps_lines);
  if (!caption) return caption;
  facts.text = caption.value().text;
  facts.had_byte_order_mark = caption.value().had_byte_order_mark;
  known.entry.caption = std::move(facts);
  known.is_new = true;
  return caption;
}

// Reads `found` into the sample. False: it cannot be used, so that the picture is left out.
bool read_caption_into(const FoundFile& found, const SubsetOptions& subset, Sample& sample, PictureFinding& finding,
                       Knowledge& known) {
  if (found.stamp.size == 0) {
    finding.has_empty_caption_file = true;
    return true;
  }
  const auto caption = caption_of(found, uses_all_lines(subset.caption), known);
  if (!caption) {
    finding.issues.push_back({Severity::Warning, sample.path,
                              "its caption cannot be used: " + caption.error().message(), "left out",
                              Treatment::LeftOut, "bad_caption"});
    return false;
  }
  if (caption.value().had_byte_order_mark) {
    finding.issues.push_back({Severity::Info, found.path, "begins with a byte order mark", "read without it",
                              Treatment::Fixed, "byte_order_mark"});
  }
  if (caption.value().text.empty()) {
    finding.has_empty_caption_file = true;
    return true;
  }
  sample.caption = caption.value().text;
  sample.caption_origin = CaptionOrigin::File;
  return true;
}

// What has the name of a caption file and is none, such as a FIFO.
void report_odd_captions(const fs::path& picture, const std::vector<std::string>& extensions, PictureFinding& finding) {
  for (const std::string& extension : extensions) {
    for (const std::string& candidate : caption_candidates(picture, extension)) {
      const std::string kind = base::kind_of(candidate);
      if (kind.empty()) continue;
      finding.issues.push_back({Severity::Warning, candidate, "this is " + kind + ", which is no caption file",
                                "not read", Treatment::Used, "odd_caption"});
    }
  }
}

void report_face(const Sample& sample, const SubsetOptions& subset, PictureFinding& finding) {
  if (!subset.face_crop_aug_range) return;
  const std::optional<Face> face = face_from_name(sample.path);
  if (!face || (face->centre_x <= sample.size.width && face->centre_y <= sample.size.height)) return;
  finding.issues.push_back(
      {Severity::Warning, sample.path,
       "the face that its name gives, around " + std::to_string(face->centre_x) + ", " +
           std::to_string(face->centre_y) + ", lies outside its " + to_string(sample.size) + " pixels",
       "cut at the border; give the places in pixels of this picture", Treatment::Used, "face_outside"});
}

// False: the picture is left out for its caption.
bool find_caption(const SubsetOptions& subset, const SubsetPlace& place, Sample& sample, PictureFinding& finding,
                  Knowledge& known) {
  const bool has_face_names = subset.has_face_names || subset.face_crop_aug_range.has_value();
  std::vector<std::string> extensions = {subset.caption_extension.value_or(".caption")};
  if (!subset.caption_extension) extensions.emplace_back(".txt");
  sample.caption = subset.class_tokens;
  sample.caption_origin = subset.class_tokens.empty() ? CaptionOrigin::None : CaptionOrigin::ClassTokens;
  const FoundFile file = caption_file(sample.path, extensions, has_face_names, place, !known.earlier);
  if (file.path.empty()) {
    finding.has_no_caption = true;
    report_odd_captions(sample.path, extensions, finding);
    finding.other_caption = caption_file(sample.path, {".txt", ".caption"}, true, place, false).path;
  } else {
    if (!read_caption_into(file, subset, sample, finding, known)) return false;
    finding.is_caption_from_txt = !subset.caption_extension && file.path.ends_with(".txt");
  }
  finding.is_skipped = subset.skip_uncaptioned && (finding.has_no_caption || finding.has_empty_caption_file);
  return !finding.is_skipped;
}

// Larger than 1: the picture has to grow to cover its bucket.
double enlargement(const Sample& sample) {
  return std::min(static_cast<double>(sample.bucket.resized.width) / static_cast<double>(sample.size.width),
                  static_cast<double>(sample.bucket.resized.height) / static_cast<double>(sample.size.height));
}

// False: the file is cut off or cannot be decoded.
bool is_whole(const fs::path& path, const PictureFacts& facts, const ScanOptions& scan, PictureFinding& finding) {
  const PictureInfo& info = facts.info;
  const std::string& missing = facts.missing_end;
  if (missing.empty() && !scan.decodes_all) return true;
  const std::string failure = scan.decode_failure ? without_path(scan.decode_failure(path), path)
                                                  : (missing.empty() ? "" : "replace or remove the file");
  if (!failure.empty()) {
    const std::string name(to_string(info.kind));
    finding.issues.push_back(
        {Severity::Warning, path,
         missing.empty() ? failure : "the " + name + " is cut off or broken: " + missing + "; " + failure, "left out",
         Treatment::LeftOut, missing.empty() ? "undecodable" : "cut_off"});
    return false;
  }
  if (!missing.empty()) {
    finding.issues.push_back(
        {Severity::Info, path, missing + ", yet all pixels are there", "used", Treatment::Fixed, "cut_off"});
  }
  return true;
}

void add_notes(const fs::path& path, const PictureInfo& info, PictureFinding& finding) {
  for (const std::string& note : info.notes) {
    finding.issues.push_back({Severity::Info, path, note, "used", Treatment::Fixed,
                              note.starts_with("animated") ? "animated" : "picture_note"});
  }
  if (info.orientation > 1) {
    finding.issues.push_back({Severity::Info, path,
                              "EXIF orientation " + std::to_string(info.orientation) + ": it lies turned in the file",
                              "turned upright, " + to_string(info.upright), Treatment::Fixed, "turned"});
  }
}

// Header and end, from the index when the file is the one that was read.
Knowledge knowledge_of(const fs::path& path, const SubsetPlace& place) {
  Knowledge known;
  struct stat info{};
  // An empty index is not asked: opening the file tells its stamp as well.
  if (place.index && place.index->size() > 0 && ::stat(path.c_str(), &info) == 0) {
    known.entry.stamp = stamp_of(info);
    known.earlier = place.index->find(path, known.entry.stamp);
  }
  if (known.earlier) {
    known.entry.facts = known.earlier->facts;
    return known;
  }
  ByteSource source(path);
  known.entry.stamp = source.stamp();
  known.entry.facts.info = probe_picture(source, path);
  known.entry.facts.missing_end = missing_end(source, known.entry.facts.info.kind);
  known.is_new = true;
  return known;
}

}  // namespace

PictureFinding scan_picture(const fs::path& path, const SubsetOptions& subset, const SubsetPlace& place,
                            const BucketRule& rule, const ScanOptions& scan) {
  PictureFinding finding;
  try {
    Knowledge known = knowledge_of(path, place);
    const PictureInfo& info = known.entry.facts.info;
    if (!is_whole(path, known.entry.facts, scan, finding)) return finding;
    Sample sample{.path = path,
                  .size = info.upright,
                  .bucket = rule.choose(info.upright),
                  .repeats = subset.num_repeats,
                  .is_reg = subset.is_reg};
    const bool is_used = find_caption(subset, place, sample, finding, known);
    if (known.is_new && place.index) place.index->add(path, known.entry);
    if (!is_used) return finding;
    add_notes(path, info, finding);
    report_face(sample, subset, finding);
    if (const double factor = enlargement(sample); factor > kLargestEnlargement) {
      finding.issues.push_back(
          {Severity::Warning, path,
           "its " + to_string(sample.size) + " pixels are few for a bucket of " + to_string(sample.bucket.bucket),
           "enlarged " + std::to_string(factor).substr(0, 4) + " times", Treatment::Used, "small_picture"});
    }
    finding.sample = std::move(sample);
  } catch (const base::Error& error) {
    finding.issues.push_back({Severity::Warning, path, without_path(error.message(), path), "left out",
                              Treatment::LeftOut, "broken_picture"});
  }
  return finding;
}

}  // namespace cinnabar::data
