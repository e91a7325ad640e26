#include "cinnabar/formats/pickle_machine.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>

#include "cinnabar/base/error.h"
#include "cinnabar/formats/pickle_names.h"
#include "cinnabar/formats/safetensors_header.h"

namespace cinnabar::formats::pickle {

namespace {

// A row takes some 200 bytes; Stable Diffusion files with optimizer states stay below half a million.
constexpr size_t kMaxValues = 1'000'000;
constexpr size_t kMaxLineBytes = 512;
constexpr uint64_t kMaxInstructions = 5'000'000;
constexpr size_t kMaxRemembered = 1'000'000;
constexpr uint32_t kMaxDepth = 64;

std::string hex(unsigned byte) {
  std::array<char, 5> text{};
  std::snprintf(text.data(), text.size(), "0x%02x", byte & 0xff);
  return text.data();
}

}  // namespace

void Machine::refuse(const std::string& reason, const std::string& what) const {
  throw base::Error(base::ErrorCode::Format, where_ + ": refused, nothing of it was run: " + what, reason);
}

Ref Machine::run() {
  for (uint64_t count = 0;; ++count) {
    if (count >= kMaxInstructions) refuse("too_many_instructions", "its pickle has more than 5000000 instructions");
    const auto opcode = static_cast<unsigned>(number(1));
    if (opcode == '.') break;
    step(opcode);
  }
  if (at_ != code_.size()) refuse("trailing_bytes", "its pickle has bytes behind the end");
  if (stack_.size() != 1 || !marks_.empty()) refuse("bad_stack", "its pickle does not end with one value");
  return stack_.back();
}

void Machine::step(unsigned opcode) {
  if (step_constant(opcode) || step_container(opcode) || step_memo(opcode) || step_object(opcode)) return;
  refuse("forbidden_opcode",
         "its pickle has the instruction " + hex(opcode) + " at byte " + std::to_string(at_ - 1) +
             ", which a file of weights does not need. Convert the file to safetensors in a sandbox, or "
             "get a safetensors version");
}

// Instruction codes: Python's Lib/pickle.py, protocols 2 to 4.
bool Machine::step_constant(unsigned opcode) {
  switch (opcode) {
    case 0x80:  // PROTO
      if (const uint64_t protocol = number(1); protocol < 2 || protocol > 4) {
        refuse("bad_protocol", "its pickle has protocol " + std::to_string(protocol) + "; 2 to 4 are read");
      }
      return true;
    case 0x95:
      number(8);
      return true;  // FRAME: only a hint for buffering
    case 'N':
      push(None{});
      return true;
    case 0x88:
      push(true);
      return true;
    case 0x89:
      push(false);
      return true;
    case 'J':
      push(static_cast<int64_t>(static_cast<int32_t>(number(4))));
      return true;
    case 'K':
      push(static_cast<int64_t>(number(1)));
      return true;
    case 'M':
      push(static_cast<int64_t>(number(2)));
      return true;
    case 0x8a:
      push(long_integer(number(1)));
      return true;
    case 0x8b:
      push(long_integer(number(4)));
      return true;
    case 'G':
      push(std::bit_cast<double>(__builtin_bswap64(number(8))));
      return true;  // big-endian
    case 'X':
      push(std::string(text(number(4))));
      return true;
    case 0x8c:
      push(std::string(text(number(1))));
      return true;
    case 0x8d:
      push(std::string(text(number(8))));
      return true;
    case 'T':
      push(std::string(text(number(4))));
      return true;  // str of Python 2
    case 'U':
      push(std::string(text(number(1))));
      return true;
    case 'B':
      text(number(4)), push(Bytes{});
      return true;
    case 'C':
      text(number(1)), push(Bytes{});
      return true;
    case 0x8e:
      text(number(8)), push(Bytes{});
      return true;
    default:
      return false;
  }
}

bool Machine::step_container(unsigned opcode) {
  switch (opcode) {
    case '(':
      if (marks_.size() >= kMaxDepth) refuse("too_deep", "its pickle nests deeper than 64 levels");
      marks_.push_back(stack_.size());
      return true;
    case '0':
      pop();
      return true;
    case '1':
      pop_to_mark();
      return true;
    case ']':
      push(List{});
      return true;
    case ')':
      push(Tuple{});
      return true;
    case '}':
      push(Dict{});
      return true;
    case 'l': {
      std::vector<Ref> items = pop_to_mark();
      const uint32_t depth = depth_above(items);
      push(List{std::move(items)}, depth);
      return true;
    }
    case 't': {
      std::vector<Ref> items = pop_to_mark();
      const uint32_t depth = depth_above(items);
      push(Tuple{std::move(items)}, depth);
      return true;
    }
    case 0x85:
    case 0x86:
    case 0x87: {  // TUPLE1 to TUPLE3
      std::vector<Ref> items(opcode - 0x84);
      for (size_t i = items.size(); i-- > 0;) items[i] = pop();
      const uint32_t depth = depth_above(items);
      push(Tuple{std::move(items)}, depth);
      return true;
    }
    case 'd': {
      const std::vector<Ref> items = pop_to_mark();
      push(Dict{});
      set_items(stack_.back(), items);
      return true;
    }
    case 'a': {
      const Ref item = pop();
      const Ref list = list_on_top();
      note_depth(list, {item});
      std::get<List>(values_[list]).items.push_back(item);
      return true;
    }
    case 'e': {
      const std::vector<Ref> items = pop_to_mark();
      const Ref list = list_on_top();
      note_depth(list, items);
      std::vector<Ref>& all = std::get<List>(values_[list]).items;
      all.insert(all.end(), items.begin(), items.end());
      return true;
    }
    case 's': {
      const Ref item = pop();
      const Ref key = pop();
      set_items(dict_on_top(), {key, item});
      return true;
    }
    case 'u': {
      const std::vector<Ref> items = pop_to_mark();
      set_items(dict_on_top(), items);
      return true;
    }
    default:
      return false;
  }
}

bool Machine::step_memo(unsigned opcode) {
  switch (opcode) {
    case 'q':
      remember(number(1));
      return true;
    case 'r':
      remember(number(4));
      return true;
    case 0x94:
      remember(memo_.size());
      return true;
    case 'h':
    case 'j': {
      const uint64_t slot = number(opcode == 'h' ? 1 : 4);
      const auto found = memo_.find(slot);
      if (found == memo_.end())
        refuse("bad_memo", "its pickle uses the remembered value " + std::to_string(slot) + ", which is none");
      push_ref(found->second);
      return true;
    }
    default:
      return false;
  }
}

bool Machine::step_object(unsigned opcode) {
  switch (opcode) {
    case 'c': {
      const std::string_view module = line();
      push_global(module, line());
      return true;
    }
    case 0x93: {  // STACK_GLOBAL
      const std::string name = get<std::string>(pop(), "a name");
      push_global(get<std::string>(pop(), "a module name"), name);
      return true;
    }
    case 'Q':
      push_storage(pop());
      return true;
    case 'R':
      reduce();
      return true;
    case 'b':
      build();
      return true;
    default:
      return false;
  }
}

uint64_t Machine::number(size_t bytes) {
  const std::string_view raw = text(bytes);
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value |= static_cast<uint64_t>(static_cast<unsigned char>(raw[i])) << (8 * i);
  return value;
}

std::string_view Machine::text(uint64_t length) {
  if (length > code_.size() - at_) refuse("cut_off", "its pickle is cut off; fetch the file again");
  const std::string_view result(reinterpret_cast<const char*>(code_.data()) + at_, length);
  at_ += length;
  return result;
}

std::string_view Machine::line() {
  const std::string_view rest(reinterpret_cast<const char*>(code_.data()) + at_, code_.size() - at_);
  const size_t length = rest.substr(0, kMaxLineBytes).find('\n');
  if (length == std::string_view::npos) refuse("cut_off", "its pickle has a name without an end");
  at_ += length + 1;
  return rest.substr(0, length);
}

int64_t Machine::long_integer(uint64_t length) {
  if (length > 8) refuse("big_integer", "its pickle has an integer of more than 64 bits");
  const std::string_view raw = text(length);
  if (raw.empty()) return 0;
  // Two's complement of `length` bytes: the last one has the sign.
  uint64_t value = (raw.back() & 0x80) != 0 ? ~uint64_t{0} : 0;
  for (size_t i = length; i-- > 0;) value = value << 8 | static_cast<unsigned char>(raw[i]);
  return static_cast<int64_t>(value);
}

void Machine::push(Value value, uint32_t depth) {
  if (values_.size() >= kMaxValues) refuse("too_many_values", "its pickle has more than 1000000 values");
  values_.push_back(std::move(value));
  depths_.push_back(depth);
  stack_.push_back(static_cast<Ref>(values_.size() - 1));
}

void Machine::push_ref(Ref ref) { stack_.push_back(ref); }

Ref Machine::pop() {
  const size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= floor) refuse("bad_stack", "its pickle takes a value from an empty stack");
  const Ref ref = stack_.back();
  stack_.pop_back();
  return ref;
}

std::vector<Ref> Machine::pop_to_mark() {
  if (marks_.empty()) refuse("bad_stack", "its pickle uses a mark that was not set");
  const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<Ref> items(from, stack_.end());
  stack_.erase(from, stack_.end());
  marks_.pop_back();
  return items;
}

uint32_t Machine::depth_above(const std::vector<Ref>& items) const {
  uint32_t depth = 0;
  for (const Ref item : items) depth = std::max(depth, depths_[item]);
  if (depth >= kMaxDepth) refuse("too_deep", "its pickle nests deeper than 64 levels");
  return depth + 1;
}

void Machine::note_depth(Ref container, const std::vector<Ref>& items) {
  depths_[container] = std::max(depths_[container], depth_above(items));
}

Ref Machine::dict_on_top() {
  const Ref top = pop();
  push_ref(top);
  get<Dict>(top, "a dictionary");
  return top;
}

Ref Machine::list_on_top() {
  const Ref top = pop();
  push_ref(top);
  get<List>(top, "a list");
  return top;
}

void Machine::set_items(Ref dict, const std::vector<Ref>& flat) {
  if (flat.size() % 2 != 0) refuse("bad_stack", "its pickle has a dictionary key without a value");
  note_depth(dict, flat);
  auto& items = std::get<Dict>(values_[dict]).items;
  for (size_t i = 0; i < flat.size(); i += 2) items.emplace_back(flat[i], flat[i + 1]);
}

void Machine::remember(uint64_t slot) {
  const Ref top = pop();
  push_ref(top);
  memo_[slot] = top;
  if (memo_.size() > kMaxRemembered) refuse("too_many_values", "its pickle remembers more than 1000000 values");
}

}  // namespace cinnabar::formats::pickle
