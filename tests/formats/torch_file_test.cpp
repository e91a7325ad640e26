#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/formats/checkpoint.h"
#include "cinnabar/formats/pickle_reader.h"
#include "cinnabar/formats/zip_reader.h"
#include "formats/archive_builder.h"
#include "formats/temporary_folder.h"

namespace cinnabar::formats {

namespace {

using namespace piece;

std::vector<float> floats(const Checkpoint& checkpoint, const std::string& name) {
  const TensorView& view = checkpoint.at(name);
  REQUIRE(view.dtype == Dtype::F32);
  std::vector<float> values(view.bytes.size() / 4);
  if (!values.empty()) std::memcpy(values.data(), view.bytes.data(), view.bytes.size());
  return values;
}

// Context of the error that `read` throws on an exact-size heap copy of `bytes`; "" when it accepts them.
template <class Read>
std::string read_reason(const std::string& bytes, const Read& read) {
  const std::vector<char> exact(bytes.begin(), bytes.end());
  try {
    read(std::as_bytes(std::span(exact)));
    return "";
  } catch (const base::Error& error) {
    CHECK(error.code() == base::ErrorCode::Format);
    return error.context();
  }
}

std::string pickle_reason(const std::string& bytes) {
  return read_reason(bytes, [](std::span<const std::byte> file) { read_pickled_tensors(file, "model.ckpt"); });
}

std::string zip_reason(const std::string& bytes) {
  return read_reason(bytes, [](std::span<const std::byte> file) { read_stored_zip(file, "model.ckpt"); });
}

// The reason for which a whole file is refused.
std::string file_reason(const std::string& bytes) {
  const TemporaryFolder folder;
  try {
    Checkpoint::open(folder.put("model.ckpt", bytes));
    return "";
  } catch (const base::Error& error) {
    return error.context();
  }
}

const std::string kStorage = storage("FloatStorage", "0", 6);
const std::string kTensor = tensor(kStorage, 0, {2, 3}, {3, 1});
const std::string kStorageBytes(24, '\0');

std::string with_tensor(const std::string& value) { return pickle(dictionary({{"a", value}})); }

}  // namespace

TEST_CASE("a file written by torch gives its tensors, contiguous") {
  const auto checkpoint = Checkpoint::open(CINNABAR_TESTS_DIR "/formats/data/torch_zip.ckpt");
  CHECK(checkpoint->tensors().size() == 11);
  CHECK(floats(*checkpoint, "plain").at(23) == 23.0f);
  CHECK(checkpoint->at("transposed").shape == std::vector<int64_t>{6, 4});
  CHECK(floats(*checkpoint, "transposed").at(1) == 6.0f);
  CHECK(floats(*checkpoint, "part") == std::vector<float>{8, 9, 10, 14, 15, 16});
  CHECK(floats(*checkpoint, "shared") == std::vector<float>{12, 13, 14, 15, 16, 17});
  CHECK(floats(*checkpoint, "expanded") == std::vector<float>{1, 1, 1, 1});
  CHECK(floats(*checkpoint, "parameter") == std::vector<float>{3, 3});
  CHECK(checkpoint->at("half").dtype == Dtype::F16);
  CHECK(checkpoint->at("bf16").dtype == Dtype::BF16);
  CHECK(checkpoint->at("steps").shape.empty());
  CHECK(std::to_integer<int>(checkpoint->at("steps").bytes[0]) == 7);
  CHECK(checkpoint->at("flags").dtype == Dtype::Bool);
  CHECK(checkpoint->at("empty").shape == std::vector<int64_t>{0, 3});
  CHECK(checkpoint->metadata().empty());
}

TEST_CASE("the dictionary state_dict is used where there is one") {
  const std::string other = tensor(storage("HalfStorage", "1", 2), 0, {2}, {1});
  const TemporaryFolder folder;
  const std::string nested = pickle(dictionary({{"outer", kTensor}, {"state_dict", dictionary({{"inner", other}})}}));
  const auto checkpoint = Checkpoint::open(folder.put("a.ckpt", make_torch_zip(nested, {kStorageBytes, "abcd"})));
  CHECK(checkpoint->tensors().size() == 1);
  CHECK(checkpoint->at("inner").dtype == Dtype::F16);
}

TEST_CASE("a pickle that asks for a foreign name is refused and the name is said") {
  const auto message = [](const std::string& code) -> std::string {
    try {
      read_pickled_tensors(std::as_bytes(std::span(code)), "model.ckpt");
    } catch (const base::Error& error) {
      return error.message();
    }
    return "";
  };
  const std::string call = global("os", "system") + tuple({text("touch /tmp/should-not-exist")}) + "R";
  CHECK(message(with_tensor(call)).find("\"os.system\"") != std::string::npos);
  CHECK(message(with_tensor(call)).find("sandbox") != std::string::npos);
  CHECK(pickle_reason(with_tensor(call)) == "forbidden_global");
  CHECK(pickle_reason(with_tensor(global("builtins", "eval"))) == "forbidden_global");
  CHECK(pickle_reason(with_tensor(global("torch", "load"))) == "forbidden_global");
  CHECK(pickle_reason(with_tensor(global("torch", "nn.Module"))) == "forbidden_global");
  CHECK(pickle_reason(with_tensor(global("torch._utils", "_rebuild_tensor_v2.__globals__"))) == "forbidden_global");
  CHECK(pickle_reason(with_tensor(global("", ""))) == "forbidden_global");
  CHECK(pickle_reason(with_tensor(text("os") + text("system") + "\x93")) == "forbidden_global");
}

TEST_CASE("bad pickles are refused with the name of the broken rule") {
  REQUIRE(pickle_reason(with_tensor(kTensor)) == "");
  CHECK(pickle_reason("") == "cut_off");
  CHECK(pickle_reason("\x80\x05N.") == "bad_protocol");
  CHECK(pickle_reason(pickle("N")) == "no_dictionary");
  CHECK(pickle_reason(pickle("}")) == "no_tensors");
  CHECK(pickle_reason(with_tensor(kTensor) + "N") == "trailing_bytes");
  CHECK(pickle_reason(pickle("")) == "bad_stack");
  CHECK(pickle_reason(pickle("NN")) == "bad_stack");
  CHECK(pickle_reason(pickle("}(")) == "bad_stack");
  CHECK(pickle_reason(pickle("t")) == "bad_stack");
  CHECK(pickle_reason(pickle("}(N0000")) == "bad_stack");
  CHECK(pickle_reason(pickle("}(" + text("a") + "u")) == "bad_stack");
  CHECK(pickle_reason(pickle("]" + text("a") + "Ns")) == "bad_type");
  CHECK(pickle_reason(pickle("}Na")) == "bad_type");
  CHECK(pickle_reason(pickle("h\7")) == "bad_memo");
  CHECK(pickle_reason(pickle("X\xff\xff\xff\x7f")) == "cut_off");
  CHECK(pickle_reason("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff") == "cut_off");
  CHECK(pickle_reason(pickle("\x8a\x09"
                             "123456789")) == "big_integer");
  CHECK(pickle_reason(pickle("ctorch")) == "cut_off");
  for (const std::string opcode : {"i", "o", "\x81", "\x92", "P",    "\x82", "\x83", "\x84", "2",    "p",
                                   "g", "I", "S",    "V",    "\x8f", "\x90", "\x91", "\x96", "\x97", "\x98"}) {
    CHECK(pickle_reason(pickle("NN" + opcode)) == "forbidden_opcode");
  }
  CHECK(pickle_reason(with_tensor("NQ")) == "bad_type");
  CHECK(pickle_reason(with_tensor(tuple({text("storage")}) + "Q")) == "bad_storage");
  CHECK(pickle_reason(with_tensor(storage("Size", "0", 6))) == "bad_storage");
  CHECK(pickle_reason(with_tensor(storage("FloatStorage", "0", 0xffffffff))) == "bad_storage");
  CHECK(pickle_reason(with_tensor(storage("FloatStorage", std::string(33, '0'), 6))) == "bad_storage");
  CHECK(pickle_reason(with_tensor("N)R")) == "bad_type");
  CHECK(pickle_reason(with_tensor(global("collections", "OrderedDict") + tuple({"]"}) + "R")) == "bad_arguments");
  CHECK(pickle_reason(with_tensor(global("torch", "FloatStorage") + ")R")) == "bad_arguments");
  CHECK(pickle_reason(with_tensor(global("torch._utils", "_rebuild_parameter") + tuple({"N", "N", "N"}) + "R")) ==
        "bad_type");
  CHECK(pickle_reason(with_tensor(global("torch._utils", "_rebuild_tensor_v2") + ")R")) == "bad_arguments");
  CHECK(pickle_reason(with_tensor(tensor("N", 0, {2}, {1}))) == "bad_type");
  CHECK(pickle_reason(with_tensor(tensor(kStorage, 0xffffffff, {2}, {1}))) == "bad_arguments");
  CHECK(pickle_reason(with_tensor(tensor(kStorage, 0, {2, 3}, {1}))) == "bad_arguments");
  CHECK(pickle_reason(with_tensor(tensor(kStorage, 0, {0x80000000}, {1}))) == "bad_arguments");
  CHECK(pickle_reason(with_tensor(tensor(kStorage, 0, {1, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1}))) ==
        "bad_arguments");
  CHECK(pickle_reason(with_tensor(kTensor + "Nb")) == "bad_type");
}

TEST_CASE("values that contain themselves or nest deep do not recurse") {
  CHECK(pickle_reason(pickle("}q\1(" + text("state_dict") + "h\1u")) == "no_tensors");
  CHECK(pickle_reason(pickle("]q\1h\1a")) == "no_dictionary");
  CHECK(pickle_reason(pickle(std::string(100'000, ']') + std::string(99'999, 'a'))) == "too_deep");
  CHECK(pickle_reason(pickle(std::string(64, ']') + std::string(63, 'a'))) == "no_dictionary");
  CHECK(pickle_reason(pickle(std::string(65, '('))) == "too_deep");
  CHECK(pickle_reason(pickle("N" + std::string(65, '\x85'))) == "too_deep");
  CHECK(pickle_reason(pickle(std::string(1'000'001, 'N'))) == "too_many_values");
}

TEST_CASE("tensors that do not fit their storage are refused") {
  const auto refused = [](const std::string& value, const std::vector<std::string>& storages) {
    return file_reason(make_torch_zip(with_tensor(value), storages));
  };
  REQUIRE(refused(kTensor, {kStorageBytes}) == "");
  CHECK(refused(kTensor, {}) == "no_storage");
  CHECK(refused(tensor(storage("FloatStorage", "../../data.pkl", 6), 0, {6}, {1}), {kStorageBytes}) == "no_storage");
  CHECK(refused(kTensor, {std::string(23, '\0')}) == "storage_size");
  CHECK(refused(tensor(storage("DoubleStorage", "0", 6), 0, {6}, {1}), {kStorageBytes}) == "storage_size");
  CHECK(refused(tensor(kStorage, 0, {7}, {1}), {kStorageBytes}) == "outside_storage");
  CHECK(refused(tensor(kStorage, 1, {6}, {1}), {kStorageBytes}) == "outside_storage");
  CHECK(refused(tensor(kStorage, 0, {2, 2}, {5, 1}), {kStorageBytes}) == "outside_storage");
  CHECK(refused(tensor(kStorage, 0, {1000, 1000}, {0, 0}), {kStorageBytes}) == "expanded");
  const uint32_t large = 0x7fffffff;
  CHECK(refused(tensor(kStorage, 0, {large, large, large}, {0, 0, 0}), {kStorageBytes}) == "size_overflow");
  CHECK(refused(tensor(kStorage, 0, {0, large, large, large}, {0, 0, 0, 0}), {kStorageBytes}) == "size_overflow");
  CHECK(refused(tensor(storage("BoolStorage", "0", 2), 0, {2}, {1}), {"\1\2"}) == "bad_boolean");
  CHECK(file_reason(make_zip({{"archive/data/0", "x"}})) == "no_pickle");
  CHECK(file_reason(make_zip({{"a/data.pkl", "x"}, {"b/data.pkl", "x"}})) == "two_pickles");
  CHECK(file_reason(make_zip({{"a/data.pkl", "x"}, {"a/constants.pkl", "x"}})) == "torch_script");
  CHECK(file_reason(make_zip({{"a/data.pkl", "x"}, {"a/byteorder", "big"}})) == "byte_order");
}

TEST_CASE("bad zip archives are refused with the name of the broken rule") {
  const std::string good = make_zip({{"a", "12345"}, {"b", ""}});
  REQUIRE(zip_reason(good) == "");
  REQUIRE(zip_reason(make_zip({})) == "");
  const size_t directory = 2 * 31 + 5;  // two local records with one letter of name, five bytes of data
  const auto patched = [&](size_t at, const std::string& bytes) {
    std::string file = good;
    return file.replace(at, bytes.size(), bytes);
  };
  CHECK(zip_reason("") == "no_directory");
  CHECK(zip_reason(good + "x") == "no_directory");
  CHECK(zip_reason(make_zip({{"a", "12345"}}, 8)) == "compressed");
  CHECK(zip_reason(patched(directory + 8, "\1")) == "encrypted");
  CHECK(zip_reason(make_zip({{"a", ""}, {"a", ""}})) == "duplicate_entry");
  for (const std::string name : {"/a", "../a", "a/../b", "a/..", "a\\b", ""})
    CHECK(zip_reason(make_zip({{name, ""}})) == "bad_name");
  CHECK(zip_reason(make_zip({{std::string("a\0b", 3), ""}})) == "bad_name");
  CHECK(zip_reason(patched(0, "X")) == "bad_entry");
  CHECK(zip_reason(patched(30, "c")) == "bad_entry");
  CHECK(zip_reason(patched(directory, "X")) == "bad_directory");
  CHECK(zip_reason(patched(directory + 24, "\6")) == "size_mismatch");
  CHECK(zip_reason(patched(directory + 20, std::string("\7\0\0\0\7\0\0\0", 8))) == "bad_entry");
  CHECK(zip_reason(patched(directory + 8, "\2")) == "bad_entry");   // flags that the record in front does not have
  CHECK(zip_reason(patched(directory + 16, "\1")) == "bad_entry");  // the same of the checksum
  CHECK(zip_reason(patched(directory + 42, "\xff\xff\xff\x7f")) == "outside");
  CHECK(zip_reason(patched(good.size() - 22 + 16, "\xff\xff\xff\x7f")) == "outside");
  CHECK(zip_reason(patched(good.size() - 22 + 10, "\3")) == "several_disks");
  CHECK(zip_reason(patched(good.size() - 22 + 8, std::string("\1\0\1", 3))) == "bad_directory");
  CHECK(zip_reason(patched(good.size() - 22 + 8, std::string("\3\0\3", 3))) == "outside");
  CHECK(zip_reason(patched(good.size() - 22 + 12, "\x5f")) == "bad_directory");
  CHECK(zip_reason(patched(good.size() - 22 + 4, "\1")) == "several_disks");
}

TEST_CASE("damaged files end in an error or in tensors, never in a crash") {
  const std::string good = base::read_file(CINNABAR_TESTS_DIR "/formats/data/torch_zip.ckpt");
  const auto zip = read_stored_zip(std::as_bytes(std::span(good)), "good");
  const auto bytes = zip.at("tiny/data.pkl");
  const std::string code(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (size_t size = 0; size < code.size(); size += 5) CHECK(pickle_reason(code.substr(0, size)) != "");
  for (size_t at = 0; at < code.size(); at += 3) {
    for (const int flip : {1, 0x80, 0xff}) {
      std::string bad = code;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      pickle_reason(bad);
    }
  }
  for (size_t size = 0; size < good.size(); size += 7) CHECK(zip_reason(good.substr(0, size)) != "");
  const TemporaryFolder folder;
  for (size_t at = 0; at < good.size(); at += 61) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0xff);
    try {
      const auto checkpoint = Checkpoint::open(folder.put("model.ckpt", bad));
      for (const auto& [name, view] : checkpoint->tensors()) {
        for (const std::byte byte : view.bytes) static_cast<void>(*const_cast<const volatile std::byte*>(&byte));
      }
    } catch (const base::Error& error) {
      CHECK(error.message().find("model.ckpt") != std::string::npos);
    }
  }
}

}  // namespace cinnabar::formats
