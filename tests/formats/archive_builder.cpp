#include "formats/archive_builder.h"

namespace cinnabar::formats {

std::string little_endian(uint64_t value, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xff);
  return bytes;
}

std::string make_zip(const std::vector<std::pair<std::string, std::string>>& entries, uint16_t method) {
  std::string file;
  std::string directory;
  for (const auto& [name, content] : entries) {
    const std::string sizes = little_endian(content.size(), 4) + little_endian(content.size(), 4);
    const std::string shared = little_endian(method, 2) + std::string(8, '\0') + sizes + little_endian(name.size(), 2);
    directory += "PK\1\2" + little_endian(20, 2) + little_endian(20, 2) + little_endian(0, 2) + shared +
                 std::string(12, '\0') + little_endian(file.size(), 4) + name;
    file += "PK\3\4" + little_endian(20, 2) + little_endian(0, 2) + shared + little_endian(0, 2) + name + content;
  }
  const std::string counts = little_endian(entries.size(), 2) + little_endian(entries.size(), 2);
  return file + directory + "PK\5\6" + little_endian(0, 4) + counts + little_endian(directory.size(), 4) +
         little_endian(file.size(), 4) + little_endian(0, 2);
}

namespace piece {

std::string text(const std::string& value) { return "X" + little_endian(value.size(), 4) + value; }

std::string number(uint32_t value) { return "J" + little_endian(value, 4); }

std::string tuple(const std::vector<std::string>& items) {
  std::string result = "(";
  for (const std::string& item : items) result += item;
  return result + "t";
}

std::string global(const std::string& module, const std::string& name) { return "c" + module + "\n" + name + "\n"; }

std::string storage(const std::string& type, const std::string& key, uint32_t size) {
  return tuple({text("storage"), global("torch", type), text(key), text("cpu"), number(size)}) + "Q";
}

std::string tensor(const std::string& storage, uint32_t offset, const std::vector<uint32_t>& sizes,
                   const std::vector<uint32_t>& strides) {
  std::vector<std::string> size_items, stride_items;
  for (const uint32_t size : sizes) size_items.push_back(number(size));
  for (const uint32_t stride : strides) stride_items.push_back(number(stride));
  const std::string hooks = global("collections", "OrderedDict") + ")R";
  return global("torch._utils", "_rebuild_tensor_v2") +
         tuple({storage, number(offset), tuple(size_items), tuple(stride_items), "\x89", hooks}) + "R";
}

std::string dictionary(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string result = "}(";
  for (const auto& [key, value] : items) result += text(key) + value;
  return result + "u";
}

std::string pickle(const std::string& value) { return "\x80\x02" + value + "."; }

}  // namespace piece

std::string make_torch_zip(const std::string& pickle, const std::vector<std::string>& storages) {
  std::vector<std::pair<std::string, std::string>> entries{{"archive/data.pkl", pickle},
                                                           {"archive/byteorder", "little"}};
  for (size_t i = 0; i < storages.size(); ++i) entries.emplace_back("archive/data/" + std::to_string(i), storages[i]);
  return make_zip(entries);
}

}  // namespace cinnabar::formats
