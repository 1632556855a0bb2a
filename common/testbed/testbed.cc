#include "common/testbed/testbed.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "common/check.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxNameBytes = 32;
constexpr int kControlAddress = 254;

TestbedHost MakeHost(const std::string& testbed, int subnet, const std::string& part, int last_byte,
                     std::int64_t bits_per_second) {
  return {.address = "10.213." + std::to_string(subnet) + "." + std::to_string(last_byte),
          .network_namespace = "/run/netns/" + NamespaceName(testbed, part),
          .host_name = testbed + "-" + part,
          .bits_per_second = bits_per_second};
}

Json HostToJson(const TestbedHost& host) {
  return {{"address", host.address},
          {"network_namespace", host.network_namespace},
          {"host_name", host.host_name},
          {"bits_per_second", host.bits_per_second}};
}

TestbedHost HostFromJson(const Json& json) {
  return {.address = json.at("address").get<std::string>(),
          .network_namespace = json.at("network_namespace").get<std::string>(),
          .host_name = json.at("host_name").get<std::string>(),
          .bits_per_second = json.at("bits_per_second").get<std::int64_t>()};
}

}  // namespace

Status CheckTestbedName(const std::string& name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  if (name.empty() || name.size() > kMaxNameBytes || !std::all_of(name.begin(), name.end(), plain) ||
      name.front() == '-' || name.back() == '-') {
    return InvalidArgumentError("test-bed name: '" + name +
                                "' is not 1 to 32 lower-case letters, digits and inner hyphens");
  }
  return OkStatus();
}

Testbed MakeTestbed(const std::string& name, int subnet, const std::vector<std::int64_t>& bits_per_second) {
  WEFT_CHECK(CheckTestbedName(name).ok()) << name;
  WEFT_CHECK(bits_per_second.size() <= kMaxTestbedHosts) << bits_per_second.size();
  WEFT_CHECK(subnet >= 0 && subnet < kMaxTestbedSubnets) << subnet;
  Testbed testbed;
  testbed.name = name;
  testbed.subnet = subnet;
  testbed.control = MakeHost(name, subnet, kControlPart, kControlAddress, 0);
  for (std::size_t i = 0; i < bits_per_second.size(); ++i) {
    testbed.hosts.push_back(MakeHost(name, subnet, std::to_string(i), static_cast<int>(i) + 1, bits_per_second[i]));
  }
  return testbed;
}

std::string NamespaceName(const std::string& testbed, const std::string& part) {
  // No test-bed's name has a dot in it, so the parts of one are never another's.
  return "weft." + testbed + "." + part;
}

std::string TestbedToJson(const Testbed& testbed) {
  Json json = {{"name", testbed.name},
               {"subnet", testbed.subnet},
               {"latency_us", testbed.latency_us},
               {"control", HostToJson(testbed.control)},
               {"hosts", Json::array()}};
  for (const TestbedHost& host : testbed.hosts) json["hosts"].push_back(HostToJson(host));
  return json.dump(2) + "\n";
}

Result<Testbed> ParseTestbed(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    Testbed testbed;
    testbed.name = json.at("name").get<std::string>();
    testbed.subnet = json.at("subnet").get<int>();
    testbed.latency_us = json.at("latency_us").get<std::int64_t>();
    testbed.control = HostFromJson(json.at("control"));
    for (const Json& host : json.at("hosts")) testbed.hosts.push_back(HostFromJson(host));
    return testbed;
  } catch (const Json::exception& error) {
    return InvalidArgumentError(std::string("no test-bed's file: ") + error.what());
  }
}

std::string TestbedPath(const std::string& name) { return std::string(kTestbedDirectory) + "/" + name + ".json"; }

Status CheckRanksFit(const Testbed& testbed, int ranks) {
  if (static_cast<std::size_t>(ranks) <= testbed.hosts.size()) return OkStatus();
  return InvalidArgumentError("test-bed " + testbed.name + ": " + std::to_string(testbed.hosts.size()) +
                              " hosts are too few for " + std::to_string(ranks) + " ranks, one on each");
}

Status EnterTestbedHost(const TestbedHost& host, bool own_host_name) {
  const int network = open(host.network_namespace.c_str(), O_RDONLY | O_CLOEXEC);
  if (network < 0) return ErrnoError("enter " + host.network_namespace, errno);
  const int error = setns(network, CLONE_NEWNET) == 0 ? 0 : errno;
  close(network);
  if (error != 0) return ErrnoError("enter " + host.network_namespace, error);
  if (!own_host_name) return OkStatus();
  if (unshare(CLONE_NEWUTS) != 0 || sethostname(host.host_name.data(), host.host_name.size()) != 0) {
    return ErrnoError("take the host name " + host.host_name, errno);
  }
  return OkStatus();
}

}  // namespace weft
