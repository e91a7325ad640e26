#include "cinnabar/formats/file_kind.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string>

#include "cinnabar/base/error.h"

namespace cinnabar::formats {

namespace {

using base::Error;
using base::ErrorCode;

constexpr size_t kHeadBytes = 512;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool is_html(std::string_view head) {
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || head[first] != '<') return false;
  const std::string text = lower(std::string(head.substr(first, 16)));
  return text.starts_with("<!doctype") || text.starts_with("<html") || text.starts_with("<head") ||
         text.starts_with("<?xml");
}

std::string read_head(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    throw Error(ErrorCode::Io, path.string() + ": no such file or folder; check the path of the model");
  }
  if (!std::filesystem::is_regular_file(path, error))
    throw Error(ErrorCode::Io, path.string() + " is not a regular file");
  std::ifstream in(path, std::ios::binary);
  std::string head(kHeadBytes, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  if (in.bad() || !in.is_open()) throw Error(ErrorCode::Io, path.string() + " cannot be read; check its permissions");
  head.resize(static_cast<size_t>(in.gcount()));
  return head;
}

// Why a file of this kind is no model that we read, and what to do.
std::string complaint(FileKind kind) {
  switch (kind) {
    case FileKind::Empty:
      return "the file is empty; fetch it again";
    case FileKind::Zeros:
      return "the file begins with zeros, as an unfinished download does; fetch it again";
    case FileKind::Html:
      return "this is a web page, not a model. The download needs a login or another address; fetch it again";
    case FileKind::LfsPointer:
      return "this is a pointer of Git LFS, not the model itself; run \"git lfs pull\" in its folder, or fetch the "
             "file";
    case FileKind::Json:
      return "this is a JSON text, perhaps the error message of a download; fetch the file again";
    case FileKind::Gguf:
      return "this is a GGUF file, which is not read here; use a safetensors version";
    case FileKind::Pickle:
      return "this is a file of torch.save before version 1.6 (not a zip archive), which is not read. Load it with a "
             "recent "
             "torch in a sandbox and save it as safetensors";
    default:
      return "the content is no model file that is known here; expected safetensors or a zip archive of torch.save";
  }
}

}  // namespace

FileKind kind_of(std::span<const std::byte> bytes) {
  const std::string_view head(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (head.empty()) return FileKind::Empty;
  if (head.starts_with("PK\3\4") || head.starts_with("PK\5\6")) return FileKind::Zip;
  if (head.starts_with("GGUF")) return FileKind::Gguf;
  if (head.starts_with("version https://git-lfs")) return FileKind::LfsPointer;
  if (is_html(head)) return FileKind::Html;
  if (head.size() >= 9 && head[8] == '{' && head.substr(4, 4) == std::string_view("\0\0\0\0", 4))
    return FileKind::Safetensors;
  if (head.size() >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5) return FileKind::Pickle;
  if (head.find_first_not_of('\0') == std::string_view::npos) return FileKind::Zeros;
  if (head.front() == '{') return FileKind::Json;
  return FileKind::Unknown;
}

FileKind model_file_kind(const std::filesystem::path& path) {
  const std::string head = read_head(path);
  const FileKind kind = kind_of(std::as_bytes(std::span(head)));
  const std::string extension = lower(path.extension().string());
  const bool is_safetensors_name = extension == ".safetensors" || extension == ".sft";
  const bool is_torch_name = extension == ".ckpt" || extension == ".pt" || extension == ".pth" || extension == ".bin";
  if (kind == FileKind::Safetensors || kind == FileKind::Zip) {
    const bool is_safetensors = kind == FileKind::Safetensors;
    if (is_safetensors ? is_safetensors_name : is_torch_name) return kind;
    throw Error(ErrorCode::Format,
                path.string() + ": the extension is \"" + extension + "\", but the content is " +
                    (is_safetensors ? "a safetensors file; rename it to .safetensors"
                                    : "a zip archive, as torch.save writes; rename it to .ckpt if that is what it is"),
                "wrong_extension");
  }
  // The safetensors reader names the broken rule of a file that looks like nothing else.
  if (kind == FileKind::Unknown && is_safetensors_name) return FileKind::Safetensors;
  throw Error(ErrorCode::Format, path.string() + ": " + complaint(kind), "wrong_content");
}

}  // namespace cinnabar::formats
