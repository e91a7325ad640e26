// The actions of `cinnabar runs`, a function each. All return the exit status and throw base::Error.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cinnabar/jobs/run_store.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::cli {

int list_runs(jobs::RunStore& store, const schema::Values& options);
int show_run(jobs::RunStore& store, const schema::Values& options);
int tail_run(jobs::RunStore& store, const schema::Values& options);
int rename_run(jobs::RunStore& store, const schema::Values& options);
int remove_runs(jobs::RunStore& store, const schema::Values& options);
int restore_runs(jobs::RunStore& store, const schema::Values& options);

// Words after "resume": a run, then options of its command that shall differ.
int resume_run(const std::vector<std::string>& words);

// The runs that the words name, each once. Throws Error{Usage} when there is none.
std::vector<jobs::RunRow> named_runs(jobs::RunStore& store, const schema::Values& options, const std::string& action,
                                     jobs::SeveralFit several = jobs::SeveralFit::Refuse,
                                     jobs::LookIn where = jobs::LookIn::Both);
// Exactly one; of several that have a name, the newest.
jobs::RunRow named_run(jobs::RunStore& store, const schema::Values& options, const std::string& action);

std::filesystem::path workspace_of(const schema::Values& options);
// What takes the store a while, on stderr at once.
void tell_at_once(const std::string& sentence);
// What the store has to say about itself, on stderr.
void print_notes(const jobs::RunStore& store);

}  // namespace cinnabar::cli
