#include "cli/testbed_network.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

namespace weft {
namespace {

constexpr double kLowestRate = 1e5;
constexpr double kHighestRate = 1e11;
constexpr std::array<std::pair<const char*, double>, 4> kUnits = {
    {{"gbit", 1e9}, {"mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}}};

constexpr std::int64_t kPacketBytes = 1514;
constexpr std::int64_t kLeastLimitBytes = 64 << 10;

std::string Bytes(std::int64_t bytes) { return std::to_string(bytes) + "b"; }

std::string PortOf(const std::string& part) { return "port-" + part; }

// `ip` or `tc` within one of the test-bed's namespaces.
ToolCommand Within(const Testbed& testbed, const std::string& part, const std::string& tool, ToolCommand words) {
  ToolCommand command = {tool, "-n", NamespaceName(testbed.name, part)};
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

ToolCommand TokenBucket(const Testbed& testbed, const std::string& part, const std::string& device,
                        std::int64_t bits_per_second) {
  const Shaping shaping = ShapingFor(bits_per_second);
  return Within(testbed, part, "tc",
                {"qdisc", "replace", "dev", device, "root", "handle", "1:", "tbf", "rate",
                 std::to_string(bits_per_second) + "bit", "burst", Bytes(shaping.burst_bytes), "limit",
                 Bytes(shaping.limit_bytes)});
}

void AddHost(const Testbed& testbed, const std::string& part, const TestbedHost& host,
             std::vector<ToolCommand>& commands) {
  const std::string port = PortOf(part);
  commands.push_back({"ip", "netns", "add", NamespaceName(testbed.name, part)});
  commands.push_back(Within(testbed, kSwitchPart, "ip",
                            {"link", "add", port, "type", "veth", "peer", "name", kTestbedInterface, "netns",
                             NamespaceName(testbed.name, part)}));
  commands.push_back(Within(testbed, kSwitchPart, "ip", {"link", "set", port, "master", "bridge", "up"}));
  commands.push_back(Within(testbed, part, "ip", {"addr", "add", host.address + "/24", "dev", kTestbedInterface}));
  commands.push_back(Within(testbed, part, "ip", {"link", "set", kTestbedInterface, "up"}));
  commands.push_back(Within(testbed, part, "ip", {"link", "set", "lo", "up"}));
  if (host.bits_per_second == 0) return;
  commands.push_back(TokenBucket(testbed, part, kTestbedInterface, host.bits_per_second));
  commands.push_back(TokenBucket(testbed, kSwitchPart, port, host.bits_per_second));
  if (testbed.latency_us == 0) return;
  commands.push_back(Within(testbed, part, "tc",
                            {"qdisc", "add", "dev", kTestbedInterface, "parent", "1:1", "netem", "delay",
                             std::to_string(testbed.latency_us) + "us", "limit", "100000"}));
}

}  // namespace

Result<std::int64_t> ParseRate(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(end, text.data() + text.size());
  std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto known = std::find_if(kUnits.begin(), kUnits.end(), [&](const auto& each) { return unit == each.first; });
  if (error != std::errc() || known == kUnits.end()) {
    return InvalidArgumentError("rate: '" + text + "' is no number of bit, kbit, mbit or gbit, as in 100mbit");
  }
  const double rate = number * known->second;
  if (!(rate >= kLowestRate && rate <= kHighestRate)) {
    return InvalidArgumentError("rate: " + text + " is not in [100kbit, 100gbit]");
  }
  return static_cast<std::int64_t>(std::llround(rate));
}

std::string RateText(std::int64_t bits_per_second) {
  for (const auto& [unit, factor] : kUnits) {
    const auto whole = static_cast<std::int64_t>(factor);
    if (bits_per_second % whole == 0) return std::to_string(bits_per_second / whole) + unit;
  }
  return std::to_string(bits_per_second) + "bit";
}

Shaping ShapingFor(std::int64_t bits_per_second) {
  const std::int64_t bytes_per_second = bits_per_second / 8;
  return {.burst_bytes = std::max(3 * kPacketBytes, bytes_per_second / 1000),
          .limit_bytes = std::max(kLeastLimitBytes, bytes_per_second / 50)};
}

std::vector<ToolCommand> UpCommands(const Testbed& testbed) {
  std::vector<ToolCommand> commands;
  commands.push_back({"ip", "netns", "add", NamespaceName(testbed.name, kSwitchPart)});
  commands.push_back(Within(testbed, kSwitchPart, "ip",
                            {"link", "add", "bridge", "type", "bridge", "stp_state", "0", "mcast_snooping", "0"}));
  commands.push_back(Within(testbed, kSwitchPart, "ip", {"link", "set", "bridge", "up"}));
  AddHost(testbed, kControlPart, testbed.control, commands);
  for (std::size_t i = 0; i < testbed.hosts.size(); ++i) {
    AddHost(testbed, std::to_string(i), testbed.hosts[i], commands);
  }
  return commands;
}

std::vector<ToolCommand> RateCommands(const Testbed& testbed, int host, std::int64_t bits_per_second) {
  const std::string part = std::to_string(host);
  return {TokenBucket(testbed, part, kTestbedInterface, bits_per_second),
          TokenBucket(testbed, kSwitchPart, PortOf(part), bits_per_second)};
}

ToolCommand CutCommand(const Testbed& testbed, int host, bool cut) {
  return Within(testbed, kSwitchPart, "ip", {"link", "set", PortOf(std::to_string(host)), cut ? "down" : "up"});
}

ToolCommand PortCommand(const Testbed& testbed, int host) {
  return Within(testbed, kSwitchPart, "ip", {"-d", "link", "show", PortOf(std::to_string(host))});
}

}  // namespace weft
