// Taking out of texts whatever says whose machine it is.
#pragma once

#include <string>
#include <vector>

namespace cinnabar::hardware {

class Anonymiser {
 public:
  // Names to take out: of the user, the host, the home folder.
  explicit Anonymiser(std::vector<std::string> secrets);
  // With the names of this process's user and host.
  static Anonymiser of_this_machine(const std::string& user_name);

  // Names become "someone"; UUIDs, serial numbers and other long numbers in hexadecimal become zeros.
  std::string text(const std::string& original) const;
  // A file of /sys, /proc or /etc, cut down to the lines that detection reads.
  std::string file(const std::string& path, const std::string& original) const;
  // A value of the environment: paths outside of /opt and /usr are taken out.
  std::string variable(const std::string& value) const;

 private:
  std::vector<std::string> secrets_;
};

}  // namespace cinnabar::hardware
