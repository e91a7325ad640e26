// Values of a pickle while it is read: rows of one table that name each other by index, so that neither reading nor
// freeing them recurses.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cinnabar/formats/pickle_reader.h"

namespace cinnabar::formats::pickle {

using Ref = uint32_t;

// The names that a file may mention.
enum class Name { OrderedDict, RebuildTensor, RebuildParameter, Size, StorageType, DtypeName };

struct None {};
struct Bytes {};  // content is never needed
struct Global {
  Name name;
  Dtype dtype = Dtype::F32;  // of a storage type
};
struct Storage {
  Dtype dtype;
  std::string key;
  uint64_t size;  // elements
};
struct List {
  std::vector<Ref> items;
};
struct Tuple {
  std::vector<Ref> items;
};
struct Dict {
  std::vector<std::pair<Ref, Ref>> items;
};

using Value =
    std::variant<None, bool, int64_t, double, std::string, Bytes, Global, Storage, List, Tuple, Dict, PickledTensor>;

}  // namespace cinnabar::formats::pickle
