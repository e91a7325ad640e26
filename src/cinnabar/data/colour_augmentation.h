// Slight changes of colour, drawn anew for each occurrence of a picture (color_aug).
#pragma once

#include "cinnabar/base/random_stream.h"
#include "cinnabar/data/picture.h"

namespace cinnabar::data {

// A third of the pictures changes: half of these in hue, half in brightness. Alpha stays.
void augment_colour(Picture& picture, base::RandomStream& random);

// Hue turned by `shift` units of two degrees, cut down to whole units; the numbers of OpenCV's 8-bit HSV.
void shift_hue(Picture& picture, double shift);
// pixel ^ gamma on 0..255, cut at 255 and down to whole numbers.
void apply_gamma(Picture& picture, double gamma);

}  // namespace cinnabar::data
