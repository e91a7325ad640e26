// The fixed constructors behind the names that a pickle may mention.
#include <string>

#include "cinnabar/base/error.h"
#include "cinnabar/base/utf8.h"
#include "cinnabar/formats/pickle_machine.h"
#include "cinnabar/formats/pickle_names.h"
#include "cinnabar/formats/safetensors_header.h"

namespace cinnabar::formats::pickle {

namespace {

// Both bound what a few bytes that repeat one tensor can allocate.
constexpr size_t kMaxDimensions = 8;
constexpr size_t kMaxKeyBytes = 32;

}  // namespace

template <class T>
const T& Machine::get(Ref ref, const char* expected) const {
  const T* value = std::get_if<T>(&values_[ref]);
  if (value == nullptr)
    refuse("bad_type", std::string("its pickle has a value of a wrong type where ") + expected + " is expected");
  return *value;
}

template const std::string& Machine::get<std::string>(Ref, const char*) const;
template const Dict& Machine::get<Dict>(Ref, const char*) const;
template const List& Machine::get<List>(Ref, const char*) const;

void Machine::push_global(std::string_view module, std::string_view name) {
  const std::optional<Global> global = allowed_global(module, name);
  if (!global) {
    const std::string full = std::string(module) + "." + std::string(name);
    refuse("forbidden_global",
           "its pickle asks for " + quote_name(full) +
               ", which a file of weights does not need and which "
               "could run foreign code. Convert the file to safetensors in a sandbox (a container without "
               "network and without your files), or get a safetensors version");
  }
  push(*global);
}

// torch.save (zip format) names a storage by ("storage", type, key, device, number of elements).
void Machine::push_storage(Ref id) {
  const Tuple& fields = get<Tuple>(id, "the tuple of a storage");
  if (fields.items.size() != 5 || get<std::string>(fields.items[0], "the word \"storage\"") != "storage") {
    refuse("bad_storage", "its pickle names something else than a storage as a part of the file");
  }
  const Global& type = get<Global>(fields.items[1], "a storage type");
  if (type.name != Name::StorageType) refuse("bad_storage", "its pickle has a storage without a type");
  const std::string& key = get<std::string>(fields.items[2], "the key of a storage");
  get<std::string>(fields.items[3], "a device name");
  const int64_t size = get<int64_t>(fields.items[4], "the size of a storage");
  if (size < 0 || key.size() > kMaxKeyBytes)
    refuse("bad_storage", "its pickle has a storage of a negative size or a long key");
  push(Storage{type.dtype, key, static_cast<uint64_t>(size)});
}

void Machine::reduce() {
  const Ref arguments_ref = pop();
  const Ref callee_ref = pop();
  const Tuple& arguments = get<Tuple>(arguments_ref, "a tuple of arguments");
  switch (get<Global>(callee_ref, "an allowed name").name) {
    case Name::OrderedDict:
      if (!arguments.items.empty()) refuse("bad_arguments", "its pickle makes an OrderedDict with arguments");
      push(Dict{});
      return;
    case Name::RebuildTensor:
      push(rebuild_tensor(arguments));
      return;
    case Name::RebuildParameter:  // (tensor, requires_grad, hooks)
      if (arguments.items.size() != 3) refuse("bad_arguments", "its pickle makes a parameter with wrong arguments");
      get<PickledTensor>(arguments.items[0], "a tensor");
      push_ref(arguments.items[0]);
      return;
    case Name::Size:
      if (arguments.items.size() != 1) refuse("bad_arguments", "its pickle makes a size with wrong arguments");
      get<Tuple>(arguments.items[0], "a tuple of sizes");
      push_ref(arguments.items[0]);
      return;
    case Name::StorageType:
    case Name::DtypeName:
      refuse("bad_arguments", "its pickle calls a type name");
  }
}

// State of an OrderedDict (torch.nn.Module keeps version numbers in `_metadata`): accepted and left out.
void Machine::build() {
  const Ref state = pop();
  get<Dict>(state, "the attributes of a dictionary");
  dict_on_top();
}

// torch._utils._rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks[, metadata])
PickledTensor Machine::rebuild_tensor(const Tuple& arguments) const {
  if (arguments.items.size() != 6 && arguments.items.size() != 7) {
    refuse("bad_arguments", "its pickle makes a tensor with " + std::to_string(arguments.items.size()) + " arguments");
  }
  const Storage& storage = get<Storage>(arguments.items[0], "a storage");
  const int64_t offset = get<int64_t>(arguments.items[1], "the offset of a tensor");
  PickledTensor tensor{.dtype = storage.dtype,
                       .storage_key = storage.key,
                       .storage_size = storage.size,
                       .offset = static_cast<uint64_t>(offset),
                       .shape = sizes(arguments.items[2]),
                       .strides = sizes(arguments.items[3])};
  if (offset < 0 || tensor.shape.size() != tensor.strides.size()) {
    refuse("bad_arguments", "its pickle makes a tensor with a negative offset or unequal numbers of sizes and strides");
  }
  return tensor;
}

std::vector<int64_t> Machine::sizes(Ref ref) const {
  const Tuple& tuple = get<Tuple>(ref, "a tuple of sizes");
  if (tuple.items.size() > kMaxDimensions)
    refuse("bad_arguments", "its pickle makes a tensor of more than 8 dimensions");
  std::vector<int64_t> result;
  for (const Ref item : tuple.items) {
    result.push_back(get<int64_t>(item, "a size"));
    if (result.back() < 0) refuse("bad_arguments", "its pickle makes a tensor with a negative size or stride");
  }
  return result;
}

}  // namespace cinnabar::formats::pickle

namespace cinnabar::formats {

namespace {
constexpr size_t kMaxNameBytes = 1024;
}

std::map<std::string, PickledTensor> read_pickled_tensors(std::span<const std::byte> pickled,
                                                          const std::string& where) {
  using namespace pickle;
  Machine machine(pickled, where);
  const Dict* dict = std::get_if<Dict>(&machine.value(machine.run()));
  if (dict == nullptr) machine.refuse("no_dictionary", "it holds no dictionary of tensors; expected a state dict");
  for (const auto& [key, item] : dict->items) {
    const auto* name = std::get_if<std::string>(&machine.value(key));
    const auto* inner = std::get_if<Dict>(&machine.value(item));
    if (name != nullptr && *name == "state_dict" && inner != nullptr) {
      dict = inner;
      break;
    }
  }
  std::map<std::string, PickledTensor> tensors;
  for (const auto& [key, item] : dict->items) {
    const auto* name = std::get_if<std::string>(&machine.value(key));
    const auto* tensor = std::get_if<PickledTensor>(&machine.value(item));
    if (name == nullptr || tensor == nullptr) continue;
    if (name->size() > kMaxNameBytes || name->find('\0') != std::string::npos || base::find_invalid_utf8(*name)) {
      machine.refuse("bad_name", "it has the tensor name " + quote_name(*name) +
                                     "; expected UTF-8 of at most 1024 bytes, no zero among them");
    }
    tensors.insert_or_assign(*name, *tensor);
  }
  if (tensors.empty()) machine.refuse("no_tensors", "its dictionary holds no named tensors; expected a state dict");
  return tensors;
}

}  // namespace cinnabar::formats
