#include "cli/testbed_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/testbed.h"
#include "cli/testbed_network.h"

namespace weft {
namespace {

constexpr const char* kDefaultName = "testbed";

struct UpFlags {
  std::string name = kDefaultName;
  int hosts = 9;
  std::string rate = "1gbit";
  std::string latency;
  std::vector<std::string> host_rates;
};

// "5ms", "200us", "1s".
Result<std::int64_t> ParseLatency(const std::string& text) {
  constexpr double kLongestUs = 10e6;
  for (const auto& [unit, us] : {std::pair("us", 1.0), std::pair("ms", 1e3), std::pair("s", 1e6)}) {
    const std::size_t length = std::strlen(unit);
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end) * us;
    if (text.size() <= length || end != text.c_str() + text.size() - length || !text.ends_with(unit)) continue;
    if (value >= 0 && value <= kLongestUs) return static_cast<std::int64_t>(value);
  }
  return InvalidArgumentError("latency: '" + text + "' is no time up to 10s, as in 5ms");
}

// "3=250mbit" changes rates[3].
Status SetHostRate(const std::string& text, std::vector<std::int64_t>& rates) {
  const std::size_t equals = text.find('=');
  const std::string host = text.substr(0, equals);
  const bool number = !host.empty() && host.size() < 6 && host.find_first_not_of("0123456789") == std::string::npos;
  if (equals == std::string::npos || !number || std::stoul(host) >= rates.size()) {
    return InvalidArgumentError("host rate: '" + text + "' is not HOST=RATE with a host from 0 to " +
                                std::to_string(rates.size() - 1));
  }
  WEFT_ASSIGN_OR_RETURN(rates[std::stoul(host)], ParseRate(text.substr(equals + 1)));
  return OkStatus();
}

Status Up(const UpFlags& flags) {
  TestbedRequest request{.name = flags.name};
  WEFT_ASSIGN_OR_RETURN(const std::int64_t rate, ParseRate(flags.rate));
  request.bits_per_second.assign(static_cast<std::size_t>(flags.hosts), rate);
  for (const std::string& text : flags.host_rates) WEFT_RETURN_IF_ERROR(SetHostRate(text, request.bits_per_second));
  if (!flags.latency.empty()) {
    WEFT_ASSIGN_OR_RETURN(request.latency_us, ParseLatency(flags.latency));
  }
  WEFT_ASSIGN_OR_RETURN(const Testbed testbed, BringUpTestbed(request));
  std::printf("test-bed %s: hosts 0 to %zu at %s to %s; weft run JOB --testbed %s\n", testbed.name.c_str(),
              testbed.hosts.size() - 1, testbed.hosts.front().address.c_str(), testbed.hosts.back().address.c_str(),
              testbed.name.c_str());
  return OkStatus();
}

Status List() {
  for (const std::string& name : TestbedNames()) {
    const Result<Testbed> testbed = LoadTestbed(name);
    if (!testbed.ok()) {
      std::printf("%s: not whole; `weft testbed down %s` removes what is left\n", name.c_str(), name.c_str());
      continue;
    }
    std::printf("%s: %zu hosts, 10.213.%d.0/24\n", name.c_str(), testbed->hosts.size(), testbed->subnet);
  }
  return OkStatus();
}

Status Show(const std::string& name) {
  WEFT_ASSIGN_OR_RETURN(const Testbed testbed, LoadTestbed(name));
  std::printf("%-8s %-14s %-10s %-10s %s\n", "HOST", "ADDRESS", "RATE", "PROCESSES", "");
  for (std::size_t i = 0; i < testbed.hosts.size(); ++i) {
    const TestbedHost& host = testbed.hosts[i];
    WEFT_ASSIGN_OR_RETURN(const bool cut, IsTestbedHostCut(testbed, static_cast<int>(i)));
    std::printf("%-8zu %-14s %-10s %-10zu %s\n", i, host.address.c_str(), RateText(host.bits_per_second).c_str(),
                ProcessesOn(host).size(), cut ? "cut off" : "");
  }
  std::printf("%-8s %-14s %-10s %-10zu\n", kControlPart, testbed.control.address.c_str(), "-",
              ProcessesOn(testbed.control).size());
  if (testbed.latency_us > 0) {
    std::printf("each packet that a host sends is delayed by %lld us\n", static_cast<long long>(testbed.latency_us));
  }
  return OkStatus();
}

// Becomes the command, so that signals and the exit code are its own. Returns only when it fails.
Status Exec(const std::string& name, const std::string& host_name, const std::vector<std::string>& words) {
  WEFT_ASSIGN_OR_RETURN(const Testbed testbed, LoadTestbed(name));
  WEFT_ASSIGN_OR_RETURN(const TestbedHost host, FindTestbedHost(testbed, host_name));
  WEFT_RETURN_IF_ERROR(EnterTestbedHost(host, /*own_host_name=*/true));
  std::vector<std::string> texts = words;
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  return ErrnoError("start " + words.front(), errno);
}

Status SignalHost(const std::string& name, const std::string& host_name, int signal) {
  WEFT_ASSIGN_OR_RETURN(const Testbed testbed, LoadTestbed(name));
  WEFT_ASSIGN_OR_RETURN(const TestbedHost host, FindTestbedHost(testbed, host_name));
  const std::vector<pid_t> processes = ProcessesOn(host);
  for (const pid_t pid : processes) {
    if (kill(pid, signal) != 0 && errno != ESRCH) {
      return ErrnoError("signal process " + std::to_string(pid), errno);
    }
  }
  std::printf("%zu processes\n", processes.size());
  return OkStatus();
}

// What the subcommands that act on a test-bed that is there take.
struct HostFlags {
  std::string name;
  std::string host;
  int host_number = 0;
  std::string rate;
  std::vector<std::string> words;
};

class Builder {
 public:
  Builder(CLI::App* testbed, int* exit_code) : testbed_(testbed), exit_code_(exit_code) {}

  void AddUp() {
    auto flags = std::make_shared<UpFlags>();
    CLI::App* up = testbed_->add_subcommand("up", "Make a test-bed: hosts joined by one switch");
    up->add_option("NAME", flags->name, "Its name; default: testbed");
    up->add_option("--hosts", flags->hosts, "How many; default: 9")->check(CLI::Range(1, kMaxTestbedHosts));
    up->add_option("--rate", flags->rate, "Of each host's link, in each direction: 10mbit, 1gbit (the default)");
    up->add_option("--host-rate", flags->host_rates, "Another rate for one host; may be repeated")
        ->option_text("HOST=RATE");
    up->add_option("--latency", flags->latency, "Delay each packet that a host sends: 5ms");
    up->callback([flags, exit_code = exit_code_] { *exit_code = ReportStatus(Up(*flags)); });
  }

  // A subcommand on a NAME that must be there, or may be left out.
  template <typename Work>
  CLI::App* Add(const char* name, const char* what, bool name_needed, Work work) {
    auto flags = std::make_shared<HostFlags>();
    flags->name = name_needed ? "" : kDefaultName;
    CLI::App* command = testbed_->add_subcommand(name, what);
    command->add_option("NAME", flags->name, "The test-bed")->required(name_needed);
    command->callback([flags, work, exit_code = exit_code_] { *exit_code = ReportStatus(work(*flags)); });
    flags_ = flags;
    return command;
  }
  template <typename Work>
  CLI::App* AddOnHost(const char* name, const char* what, Work work) {
    CLI::App* command = Add(name, what, true, work);
    command->add_option("HOST", flags_->host, "Its number, or control")->required();
    return command;
  }
  template <typename Work>
  CLI::App* AddOnLink(const char* name, const char* what, Work work) {
    CLI::App* command = Add(name, what, true, work);
    command->add_option("HOST", flags_->host_number, "Its number")->required();
    return command;
  }
  // Of the subcommand added last.
  HostFlags& flags() { return *flags_; }

 private:
  CLI::App* const testbed_;
  int* const exit_code_;
  std::shared_ptr<HostFlags> flags_;
};

}  // namespace

void AddTestbedCommand(CLI::App* app, int* exit_code) {
  CLI::App* testbed = app->add_subcommand("testbed", "Make networks of this machine's own to try things on");
  testbed->require_subcommand(1);
  Builder builder(testbed, exit_code);
  builder.AddUp();
  builder.Add("down", "Kill what runs in a test-bed and remove it", false,
              [](const HostFlags& flags) { return TakeDownTestbed(flags.name); });
  testbed->add_subcommand("list", "The test-beds of this machine")->callback([exit_code] {
    *exit_code = ReportStatus(List());
  });
  builder.Add("show", "The hosts of a test-bed", false, [](const HostFlags& flags) { return Show(flags.name); });
  builder
      .AddOnHost("exec", "Run a command on a host",
                 [](const HostFlags& flags) { return Exec(flags.name, flags.host, flags.words); })
      ->add_option("COMMAND", builder.flags().words, "Behind --: the command")
      ->required();
  builder
      .AddOnLink("rate", "Give a host's link another rate, also while something runs",
                 [](const HostFlags& flags) -> Status {
                   WEFT_ASSIGN_OR_RETURN(const std::int64_t rate, ParseRate(flags.rate));
                   return SetTestbedRate(flags.name, flags.host_number, rate);
                 })
      ->add_option("RATE", builder.flags().rate, "As in 250mbit")
      ->required();
  builder.AddOnLink("cut", "Cut a host off from the others",
                    [](const HostFlags& flags) { return CutTestbedHost(flags.name, flags.host_number, true); });
  builder.AddOnLink("heal", "End a cut",
                    [](const HostFlags& flags) { return CutTestbedHost(flags.name, flags.host_number, false); });
  builder.AddOnHost("stop", "Stop (SIGSTOP) the processes on a host",
                    [](const HostFlags& flags) { return SignalHost(flags.name, flags.host, SIGSTOP); });
  builder.AddOnHost("cont", "Let them go on (SIGCONT)",
                    [](const HostFlags& flags) { return SignalHost(flags.name, flags.host, SIGCONT); });
}

}  // namespace weft
