// The stack machine of pickles, cut down to instructions for plain data.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cinnabar/formats/pickle_value.h"

namespace cinnabar::formats::pickle {

class Machine {
 public:
  // Both must outlive the machine. `where` opens every message.
  Machine(std::span<const std::byte> code, const std::string& where) : code_(code), where_(where) {}

  // Reads up to the instruction STOP and returns the value left. Throws Error{Format}.
  Ref run();
  const Value& value(Ref ref) const { return values_[ref]; }
  [[noreturn]] void refuse(const std::string& reason, const std::string& what) const;

 private:
  void step(unsigned opcode);
  bool step_constant(unsigned opcode);
  bool step_container(unsigned opcode);
  bool step_memo(unsigned opcode);
  bool step_object(unsigned opcode);

  uint64_t number(size_t bytes);           // little-endian, advances
  std::string_view text(uint64_t length);  // advances
  std::string_view line();                 // advances behind the newline
  int64_t long_integer(uint64_t length);   // advances

  void push(Value value, uint32_t depth = 0);
  void push_ref(Ref ref);
  Ref pop();
  std::vector<Ref> pop_to_mark();
  Ref dict_on_top();
  Ref list_on_top();
  void set_items(Ref dict, const std::vector<Ref>& flat);
  // How deep a container with these items nests; refuses more than the limit.
  uint32_t depth_above(const std::vector<Ref>& items) const;
  void note_depth(Ref container, const std::vector<Ref>& items);
  void remember(uint64_t slot);

  void push_global(std::string_view module, std::string_view name);
  void push_storage(Ref id);
  void reduce();
  void build();
  PickledTensor rebuild_tensor(const Tuple& arguments) const;
  std::vector<int64_t> sizes(Ref ref) const;
  template <class T>
  const T& get(Ref ref, const char* expected) const;

  std::span<const std::byte> code_;
  const std::string& where_;
  size_t at_ = 0;
  std::vector<Value> values_;
  std::vector<uint32_t> depths_;  // one a value
  std::vector<Ref> stack_;
  std::vector<size_t> marks_;  // stack heights
  std::unordered_map<uint64_t, Ref> memo_;
};

}  // namespace cinnabar::formats::pickle
