// A network test-bed on one machine: every host is a network namespace whose only link leads to one bridge, shaped to a
// rate in both directions. The bridge has a namespace of its own, so no route leads out and the machine's firewall has
// no say. A further namespace, the control host, has an unshaped link: the coordinator and mpirun run there.
//
// `weft testbed up` (cli/) makes it and writes it down in one JSON file; the coordinator and the remote shell read
// that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace weft {

// The name of each host's link, in its own namespace.
inline constexpr const char* kTestbedInterface = "weft0";

struct TestbedHost {
  std::string address{};             // IPv4
  std::string network_namespace{};   // "/run/netns/weft.bed.3"
  std::string host_name{};           // "bed-3"
  std::int64_t bits_per_second = 0;  // of its link, per direction, headers counted; 0: not shaped
  bool operator==(const TestbedHost&) const = default;
};

struct Testbed {
  std::string name;             // lower-case letters, digits and inner hyphens, at most 32
  int subnet = 0;               // 10.213.<subnet>.0/24
  std::int64_t latency_us = 0;  // added to each packet that a host sends
  TestbedHost control;
  std::vector<TestbedHost> hosts;  // rank r runs on hosts[r]
  bool operator==(const Testbed&) const = default;
};

inline constexpr int kMaxTestbedHosts = 200;
inline constexpr int kMaxTestbedSubnets = 256;

// INVALID_ARGUMENT names the rule that `name` breaks.
Status CheckTestbedName(const std::string& name);

// A test-bed with all that follows from its name, subnet and rates.
// Requires a right name, at most kMaxTestbedHosts rates, and a subnet below kMaxTestbedSubnets.
Testbed MakeTestbed(const std::string& name, int subnet, const std::vector<std::int64_t>& bits_per_second);

// The namespace that holds the bridge, as `ip netns` calls it; the hosts' are NamespaceName(name, "0") and on.
std::string NamespaceName(const std::string& testbed, const std::string& part);
inline constexpr const char* kSwitchPart = "switch";
inline constexpr const char* kControlPart = "control";

std::string TestbedToJson(const Testbed& testbed);
// INVALID_ARGUMENT names the field that is missing or of another type.
Result<Testbed> ParseTestbed(std::string_view json);

// Where the test-beds of this machine are written down: one file each.
inline constexpr const char* kTestbedDirectory = "/run/weft/testbed";
std::string TestbedPath(const std::string& name);

// INVALID_ARGUMENT: there are more ranks than hosts.
Status CheckRanksFit(const Testbed& testbed, int ranks);

// Moves the calling thread, and the processes and threads that it starts from now on, into the host's network. With
// `own_host_name` also under its host name: mpirun's daemons take two of one name for one machine.
// PERMISSION_DENIED without CAP_SYS_ADMIN; NOT_FOUND when the test-bed is gone.
Status EnterTestbedHost(const TestbedHost& host, bool own_host_name);

}  // namespace weft
