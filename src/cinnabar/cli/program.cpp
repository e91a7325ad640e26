#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <new>
#include <system_error>

#include "cinnabar/base/error.h"
#include "cinnabar/base/text_match.h"
#include "cinnabar/base/utf8.h"
#include "cinnabar/cli/command.h"
#include "cinnabar/cli/version_text.h"
#include "cinnabar/schema/describe.h"

namespace cinnabar::cli {

namespace {

bool is_help(const std::string& word) { return word == "--help" || word == "-h" || word.starts_with("--help="); }

// Commands of the launcher script in the repository, which never reach this program.
struct LauncherCommand {
  const char* name;
  const char* help;
};
constexpr LauncherCommand kLauncherCommands[] = {{"build", "Brings the build up to date."},
                                                 {"test", "Builds and runs the tests."}};

void print_line(const std::string& name, const std::string& help) {
  std::cout << "  " << name << std::string(name.size() < 12 ? 12 - name.size() : 1, ' ') << help << "\n";
}

int print_overview() {
  std::cout << "Cinnabar trains diffusion models: LoRA and its relatives, with the option names of sd-scripts.\n\n"
               "cinnabar COMMAND [--OPTION VALUE ...]\n\nCommands\n";
  for (const std::string& name : ordered_commands()) print_line(name, commands().at(name).help);
  std::cout << "\nCommands of the script ./cinnabar in the repository alone\n";
  print_line("setup", "Fetches packages and libtorch for this machine, and builds.");
  for (const LauncherCommand& command : kLauncherCommands) print_line(command.name, command.help);
  std::cout << "\ncinnabar COMMAND --help lists a command's options, with an option's name behind it that one "
               "alone;\ncinnabar --version says what is installed.\n";
  return 0;
}

int print_help(const std::string& name) {
  const Command& command = commands().at(name);
  std::cout << command.help << "\n\ncinnabar " << name << (command.usage.empty() ? "" : " ") << command.usage << "\n";
  if (command.schema) std::cout << schema::help_text(command.schema());
  return 0;
}

// "--help network_dim", "--network_dim --help", "--help=network_dim": of that option alone. Empty: no word names one.
std::string named_option(const schema::Schema& schema, const std::vector<std::string>& words) {
  for (std::string word : words) {
    if (word.starts_with("--help=")) word.erase(0, std::string("--help=").size());
    word.erase(0, std::min(word.find_first_not_of('-'), word.size()));
    std::ranges::replace(word, '-', '_');
    if (const schema::Option* option = schema.find(word.substr(0, word.find('='))); option != nullptr)
      return option->name;
  }
  return {};
}

int print_option_help(const schema::Schema& schema, const std::string& name) {
  const schema::Option* option = schema.find(name);
  schema::Schema shown({{*option}});
  for (const schema::EntryTable& table : schema.tables()) {
    if (table.selector == name) shown.add(table);
  }
  std::cout << schema::help_text(shown);
  return 0;
}

int fail(const base::Error& error) {
  std::cout.flush();
  std::cerr << "cinnabar: " << base::printable_text(error.message()) << "\n";
  return base::exit_status(error.code());
}

// A report that did not reach its file must not count as made.
int checked_output(int status) {
  errno = 0;
  std::cout.flush();
  if (std::cout) return status;
  // The write that failed may lie far back, and its reason with it; one more byte meets the same.
  if (errno == 0 && ::write(STDOUT_FILENO, "\n", 1) == 1) errno = 0;
  if (errno == EPIPE) return status;  // whoever read it wanted no more
  const std::string reason = errno != 0 ? std::strerror(errno) : "a write failed";
  std::cerr << "cinnabar: the output could not be written completely: " << reason
            << "; free some space or write it elsewhere\n";
  return status == 0 ? 1 : status;
}

base::Error unknown_command(const std::string& name) {
  std::vector<std::string> names = commands().names();
  std::string known;
  for (const std::string& command : ordered_commands()) known += (known.empty() ? "" : ", ") + command;
  for (const LauncherCommand& command : kLauncherCommands) {
    if (name == command.name) {
      return {base::ErrorCode::Usage,
              name + " is a command of the script \"cinnabar\" in the repository; run ./cinnabar " + name};
    }
  }
  const std::string near = base::nearest_name(name, names);
  return {base::ErrorCode::Usage, "unknown command \"" + name + "\"" +
                                      (near.empty() ? "." : "; did you mean " + near + "?") + " Commands: " + known};
}

// Options and paths are kept as JSON and TOML, which have no other bytes; replaced ones would name another file.
void check_utf8(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (!base::find_invalid_utf8(argument)) continue;
    throw base::Error(base::ErrorCode::Usage, "the argument \"" + base::shown_text(argument, 200) +
                                                  "\" is not UTF-8; rename the file or folder, or use a link to it "
                                                  "with a name in UTF-8");
  }
}

int dispatch(const std::vector<std::string>& arguments) {
  if (arguments.empty() || is_help(arguments[0])) return print_overview();
  const std::string& name = arguments[0];
  const std::vector<std::string> words(arguments.begin() + 1, arguments.end());
  if (name == "--version" || name == "-V") {
    std::cout << version_text();
    return 0;
  }
  if (name == "help") return words.empty() ? print_overview() : dispatch({words[0], "--help"});
  const Command* command = commands().find(name);
  if (command == nullptr) throw unknown_command(name);
  if (std::any_of(words.begin(), words.end(), is_help)) {
    const schema::Schema options = command->schema ? command->schema() : schema::Schema();
    const std::string option = named_option(options, words);
    return option.empty() ? print_help(name) : print_option_help(options, option);
  }
  return command->run(words);
}

}  // namespace

int run_program(const std::vector<std::string>& arguments) {
  try {
    check_utf8(arguments);
    return checked_output(dispatch(arguments));
  } catch (const base::Error& error) {
    return fail(error);
  } catch (const std::bad_alloc&) {
    return fail({base::ErrorCode::OutOfMemory, "out of memory"});
  } catch (const std::filesystem::filesystem_error& error) {
    return fail({base::ErrorCode::Io, error.path1().string() + ": " + error.code().message() + "; check the path"});
  } catch (const std::system_error& error) {
    const bool is_shortage =
        error.code() == std::errc::resource_unavailable_try_again || error.code() == std::errc::not_enough_memory;
    return fail({is_shortage ? base::ErrorCode::OutOfMemory : base::ErrorCode::Io,
                 "the system refused: " + error.code().message() +
                     (is_shortage ? "; free memory or raise the limits (ulimit -v, -u)" : "")});
  } catch (const std::exception& error) {
    return fail({base::ErrorCode::Internal, std::string("internal error: ") + error.what() + "; please report it"});
  }
}

}  // namespace cinnabar::cli
