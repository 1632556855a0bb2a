#include "coordinator/launch/remote_shell.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace weft {
namespace {

// What orted is told by mpirun itself, and by MakeRankCommand (ranks.cc). Settings that name programs or plugins to
// load (orte_launch_agent, mca_base_component_path) are not among them, and plm_rsh_agent has one value. All of btl_ is
// taken: containers' environments often have some.
constexpr std::array<std::string_view, 22> kSettings = {
    "btl",
    "ess",
    "ess_base_jobid",
    "ess_base_num_procs",
    "ess_base_vpid",
    "hwloc_base_binding_policy",
    "mpi_yield_when_idle",
    "oob_tcp_if_include",
    "oob_tcp_keepalive_intvl",
    "oob_tcp_keepalive_probes",
    "oob_tcp_keepalive_time",
    "orte_hnp_uri",
    "orte_leave_session_attached",
    "orte_node_regex",
    "osc",
    "plm",
    "plm_rsh_agent",
    "plm_rsh_no_tree_spawn",
    "plm_rsh_num_concurrent",
    "pmix",
    "pml",
    "rmaps_base_oversubscribe",
};

// Without the spaces around it and the quotes around all of it.
std::string Unquoted(const std::string& word) {
  const std::size_t first = word.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  std::string bare = word.substr(first, word.find_last_not_of(' ') - first + 1);
  if (bare.size() >= 2 && bare.front() == '"' && bare.back() == '"') bare = bare.substr(1, bare.size() - 2);
  return bare;
}

// `settings`: "-mca", a name, its value, and so on.
Status CheckSettings(std::span<const std::string> settings) {
  for (; !settings.empty(); settings = settings.subspan(3)) {
    const std::string& option = settings[0];
    if (option != "-mca" && option != "--mca") {
      return InvalidArgumentError("remote shell: orted's option '" + option + "' is not one of mpirun's");
    }
    if (settings.size() < 3) return InvalidArgumentError("remote shell: '" + option + "' needs a name and a value");
    const std::string& name = settings[1];
    const bool known = std::ranges::find(kSettings, name) != kSettings.end() || name.starts_with("btl_");
    if (!known || (name == "plm_rsh_agent" && settings[2] != kRemoteShellName)) {
      return InvalidArgumentError("remote shell: orted's setting " + name + "='" + settings[2] +
                                  "' is not one of a run's; is it in the environment, as OMPI_MCA_" + name + "?");
    }
  }
  return OkStatus();
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
  WEFT_RETURN_IF_ERROR(CheckSettings(std::span(command.arguments).subspan(1)));
  return command;
}

}  // namespace weft
