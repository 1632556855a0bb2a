#include "tests/cli/run_weft.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace weft {

CommandOutcome RunWeft(const std::string& arguments, const std::string& before) {
  std::string error_file = testing::TempDir() + "weft_stderr_XXXXXX";
  const int fd = mkstemp(error_file.data());
  EXPECT_GE(fd, 0);
  close(fd);
  const std::string line = before + "exec " + WEFT_BINARY + " " + arguments + " 2>'" + error_file + "'";
  CommandOutcome outcome;
  std::FILE* pipe = popen(line.c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer;
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    outcome.out.append(buffer.data(), n);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  std::ostringstream text;
  text << std::ifstream(error_file).rdbuf();
  outcome.err = text.str();
  std::remove(error_file.c_str());
  return outcome;
}

}  // namespace weft
