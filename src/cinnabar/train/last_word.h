// An error that ends a run and already says what there is to go on from: nothing is saved for it any more.
#pragma once

#include "cinnabar/base/error.h"

namespace cinnabar::train {

class LastWord : public base::Error {
 public:
  using base::Error::Error;
};

}  // namespace cinnabar::train
