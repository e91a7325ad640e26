#include "cinnabar/formats/safetensors_header.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "cinnabar/base/error.h"
#include "cinnabar/base/utf8.h"

namespace cinnabar::formats {

namespace {

using base::Error;
using base::ErrorCode;

constexpr size_t kMaxTensors = 1'000'000;
constexpr size_t kMaxTensorNameBytes = 1024;
constexpr size_t kMaxDimensions = 8;
// Tag counts of large data sets (ss_tag_frequency) have several MiB.
constexpr size_t kMaxMetadataBytes = size_t{16} << 20;

// Receives the parser's events, so that no tree is built and nesting deeper than the format's three levels stops at
// once.
class HeaderEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderEvents(SafetensorsHeader& header, const std::string& where) : header_(header), where_(where) {}

  bool key(string_t& text) override {
    if (level_ == Level::Root) {
      check_name(text);
      if (!names_.insert(text).second) refuse("duplicate_key", "the name " + quote_name(text) + " occurs twice");
      name_ = text;
    } else if (level_ == Level::Metadata) {
      if (header_.metadata.contains(text))
        refuse("duplicate_key", "the metadata key " + quote_name(text) + " occurs twice");
      field_ = text;
    } else {
      if (text != "dtype" && text != "shape" && text != "data_offsets") {
        refuse("unknown_field", "tensor " + quote_name(name_) + " has the unknown field " + quote_name(text));
      }
      if (!fields_.insert(text).second) {
        refuse("duplicate_key", "tensor " + quote_name(name_) + " has the field \"" + text + "\" twice");
      }
      field_ = text;
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (level_ == Level::None) {
      level_ = Level::Root;
    } else if (level_ == Level::Root) {
      level_ = name_ == "__metadata__" ? Level::Metadata : Level::Tensor;
      fields_.clear();
      entry_ = {.name = name_};
    } else {
      refuse_value();
    }
    return true;
  }

  bool end_object() override {
    if (level_ == Level::Tensor) {
      for (const char* field : {"dtype", "shape", "data_offsets"}) {
        if (!fields_.contains(field)) {
          refuse("missing_field", "tensor " + quote_name(name_) + " has no field \"" + field + "\"");
        }
      }
      header_.entries.push_back(std::move(entry_));
    }
    level_ = level_ == Level::Root ? Level::None : Level::Root;
    return true;
  }

  bool start_array(std::size_t) override {
    if (level_ != Level::Tensor || field_ == "dtype") refuse_value();
    level_ = Level::Numbers;
    numbers_.clear();
    return true;
  }

  bool end_array() override {
    level_ = Level::Tensor;
    if (field_ == "shape") {
      for (const uint64_t size : numbers_) {
        if (size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
          refuse("size_overflow", "tensor " + quote_name(name_) + " has a dimension that overflows 63 bits");
        }
        entry_.shape.push_back(static_cast<int64_t>(size));
      }
    } else {
      if (numbers_.size() != 2)
        refuse("bad_value", "the data_offsets of tensor " + quote_name(name_) + " are not two numbers");
      entry_.begin = numbers_[0];
      entry_.end = numbers_[1];
    }
    return true;
  }

  bool string(string_t& text) override {
    if (level_ == Level::Metadata) {
      if (text.size() > kMaxMetadataBytes) {
        refuse("metadata_over_limit", "the metadata value of " + quote_name(field_) + " has " +
                                          std::to_string(text.size()) + " bytes, at most " +
                                          std::to_string(kMaxMetadataBytes) + " are read");
      }
      header_.metadata.emplace(field_, std::move(text));
    } else if (level_ == Level::Tensor && field_ == "dtype") {
      const std::optional<Dtype> dtype = dtype_from(text);
      if (!dtype) {
        refuse("unknown_dtype", "tensor " + quote_name(name_) + " has the dtype " + quote_name(text) +
                                    "; known are F64, F32, F16, BF16, F8_E4M3, F8_E5M2, I64, I32, I16, I8, U8, BOOL");
      }
      entry_.dtype = *dtype;
    } else {
      refuse_value();
    }
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (level_ != Level::Numbers) refuse_value();
    if (numbers_.size() >= kMaxDimensions) {
      refuse("too_many_dimensions", "tensor " + quote_name(name_) + " has a list of more than 8 numbers");
    }
    numbers_.push_back(value);
    return true;
  }

  bool null() override { refuse_value(); }
  bool boolean(bool) override { refuse_value(); }
  bool number_integer(number_integer_t) override { refuse_value(); }
  bool number_float(number_float_t, const string_t&) override { refuse_value(); }
  bool binary(binary_t&) override { refuse_value(); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    refuse("header_json", "its header is not valid JSON near byte " + std::to_string(position));
  }

 private:
  enum class Level { None, Root, Metadata, Tensor, Numbers };

  [[noreturn]] void refuse(const std::string& reason, const std::string& what) const {
    throw Error(ErrorCode::Format, where_ + ": not a valid safetensors file: " + what, reason);
  }

  void check_name(const std::string& name) const {
    if (names_.size() >= kMaxTensors) refuse("too_many_tensors", "it has more than 1000000 tensors");
    if (name.size() > kMaxTensorNameBytes || name.find('\0') != std::string::npos) {
      refuse("bad_name", "the name " + quote_name(name) + " has " + std::to_string(name.size()) +
                             " bytes; at most 1024 are allowed, and no zero among them");
    }
  }

  // A value of a type that the format does not allow in this place.
  [[noreturn]] void refuse_value() const {
    if (level_ == Level::Metadata) {
      refuse("metadata_not_text", "the metadata value of " + quote_name(field_) + " is not a string");
    }
    if (level_ == Level::Root) refuse("entry_not_object", "the value of " + quote_name(name_) + " is not an object");
    refuse("bad_value", "the field \"" + field_ + "\" of tensor " + quote_name(name_) +
                            " has a value of a wrong type; whole numbers from 0 and a dtype name are expected");
  }

  SafetensorsHeader& header_;
  const std::string& where_;
  Level level_ = Level::None;
  std::string name_;
  std::string field_;
  HeaderEntry entry_;
  std::set<std::string, std::less<>> names_;
  std::set<std::string, std::less<>> fields_;
  std::vector<uint64_t> numbers_;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& where) {
  SafetensorsHeader header;
  HeaderEvents events(header, where);
  nlohmann::json::sax_parse(json.begin(), json.end(), &events);
  return header;
}

std::string quote_name(std::string_view name) {
  constexpr size_t kShown = 120;
  return '"' + base::shown_text(name, kShown) + '"';
}

}  // namespace cinnabar::formats
