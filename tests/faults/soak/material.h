// What the rounds train on, with which options, and what of a finished run is compared.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace cinnabar::soak {

using Words = std::vector<std::string>;

// FOLDER/data: eight occurrences of five captioned pictures, so that short runs have several epochs.
void copy_pictures(const std::filesystem::path& folder);

// A training of 10 steps on FOLDER/data to out/run..., with options drawn by `seed`: optimizer, precision, schedule,
// accumulation, dropouts, average, validation, caches, threads of the loader, save points.
Words drawn_training(uint64_t seed);
// One of fixed options that reaches every named point.
Words full_training();

// "" when the finished runs in both folders (out/, work/) are the same: weights, moments, averages, counters, losses of
// all steps, names of files. Else the first difference.
std::string difference(const std::filesystem::path& expected, const std::filesystem::path& found);
// The same for the final file and state alone: runs without records, and runs that saved once more when they stopped.
std::string difference_of_states(const std::filesystem::path& expected, const std::filesystem::path& found);

// Step -> loss over all runs recorded in WORKSPACE, a later run's number over an earlier one's.
std::map<int64_t, std::string> losses_of(const std::filesystem::path& workspace);

// "" when no run has claimed a state that one which went on from it did not find. `lost_steps`: most that had to be
// done again.
std::string broken_claim(const std::filesystem::path& workspace, int64_t& lost_steps);

// What must not be left in the folder of a finished run; "" when nothing is.
std::string leftover(const std::filesystem::path& folder);

}  // namespace cinnabar::soak
