// The data sets of a run: from options to scanned samples, with every finding reported.
#pragma once

#include <vector>

#include "cinnabar/adapters/metadata.h"
#include "cinnabar/base/events.h"
#include "cinnabar/data/dataset.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::train {

// The value that names the folder of the run's record; the worker sets it.
inline constexpr const char* kRunFolder = "run_folder";

// Reads dataset_config, or train_data_dir and reg_data_dir ("embedded" stands for the program's own pictures), and the
// options of data set and captions, scans the folders and reports what was found, whole in dataset_report.json in the
// run's folder. Throws Error{Data} when nothing can be trained, naming every reason, or with strict when something was
// left out.
std::vector<data::Dataset> scan_run_data(const schema::Values& values, base::EventSink& events);

// dataset_report.json in the run's folder, where there is one: after the scan, and again when something was left out
// later. Throws Error{Io}.
void write_dataset_report(const std::vector<data::Dataset>& datasets, const schema::Values& values);

// "512" or "512,768".
data::Size size_of(const std::string& text);

// What the metadata of files says about a data set.
adapters::DatasetFacts facts_of(const data::Dataset& dataset);

}  // namespace cinnabar::train
