// The one error type between modules, and the value-or-error type for places where failing is ordinary.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace cinnabar::base {

enum class ErrorCode { Usage, Config, Data, Format, Io, OutOfSpace, OutOfMemory, Device, Cancelled, Denied, Internal };

// Name of a code as it stands in JSON events, e.g. "OutOfSpace".
std::string_view to_string(ErrorCode code);
// Inverse of to_string; an unknown name gives Internal.
ErrorCode error_code_from(std::string_view name);
// Exit status of a program that ends with this error (design.md, section 4): 2 for Usage and Config, 70 for Device,
// 130 for Cancelled, else 1.
int exit_status(ErrorCode code);

// `message` says what failed, where, what was found, what was expected and what to do, in one or two sentences.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message, std::string context = {})
      : std::runtime_error(message), code_(code), context_(std::move(context)) {}

  ErrorCode code() const { return code_; }
  std::string message() const { return what(); }
  const std::string& context() const { return context_; }

 private:
  ErrorCode code_;
  std::string context_;
};

// What a message says before its first line break; libtorch's go on with a stack and build notes.
std::string first_line(const std::string& text);

// Value or Error, for parsers, validators and per-item data work whose callers go on or gather several errors.
template <class T>
class Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return state_.index() == 0; }
  bool has_value() const { return state_.index() == 0; }
  // Throws the error when there is no value.
  T& value() & { return get(*this); }
  const T& value() const& { return get(*this); }
  T&& value() && { return std::move(get(*this)); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  template <class Self>
  static auto& get(Self& self) {
    if (self.state_.index() == 1) throw std::get<1>(self.state_);
    return std::get<0>(self.state_);
  }
  std::variant<T, Error> state_;
};

[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);

}  // namespace cinnabar::base

// For our own bugs only: no input of a user, file or socket may reach one.
#define CINNABAR_ASSERT(expression) \
  ((expression) ? static_cast<void>(0) : ::cinnabar::base::assertion_failed(#expression, __FILE__, __LINE__))
