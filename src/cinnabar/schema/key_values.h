// Reads lists of "key=value" texts (`optimizer_args`, `lr_scheduler_args`) against the option rows of one entry.
#pragma once

#include <string>
#include <vector>

#include "cinnabar/schema/option.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::schema {

// Values of `texts`, with the fallback of every row that is not given. Values may be written as Python literals, as
// sd-scripts takes them: True/False, None (unset), quoted texts, lists with or without brackets ("betas=0.9,0.99").
// `list_name` is the option's name, for errors. Throws Error{Config} with all problems at once: a text without exactly
// one
// "=", an unknown key (with the nearest known one), a value of another type, out of range or not among the choices.
Values read_key_values(const std::string& list_name, const std::vector<std::string>& texts,
                       const std::vector<Option>& rows);

// Adds the fallback of every row that `values` lacks.
void add_fallbacks(Values& values, const std::vector<Option>& rows);

}  // namespace cinnabar::schema
