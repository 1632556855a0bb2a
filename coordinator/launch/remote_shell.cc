#include "coordinator/launch/remote_shell.h"

namespace weft {
namespace {

// Without the spaces around it and the quotes around all of it.
std::string Unquoted(const std::string& word) {
  const std::size_t first = word.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  std::string bare = word.substr(first, word.find_last_not_of(' ') - first + 1);
  if (bare.size() >= 2 && bare.front() == '"' && bare.back() == '"') bare = bare.substr(1, bare.size() - 2);
  return bare;
}

}  // namespace

Result<RemoteCommand> ParseRemoteCommand(std::span<const std::string> words) {
  RemoteCommand command;
  if (!words.empty()) command.address = Unquoted(words[0]);
  for (const std::string& word : words.subspan(words.empty() ? 0 : 1)) command.arguments.push_back(Unquoted(word));
  if (command.address.empty() || command.arguments.empty()) {
    return InvalidArgumentError("remote shell: a host and a command are needed");
  }
  if (command.arguments.front() != "orted") {
    return InvalidArgumentError("remote shell: starts orted only, not '" + command.arguments.front() + "'");
  }
  for (const std::string& argument : command.arguments) {
    if (argument.find_first_of("\"'`$\\\n") != std::string::npos) {
      return InvalidArgumentError("remote shell: '" + argument + "' is for a shell");
    }
  }
  return command;
}

}  // namespace weft
