// What `weft testbed` does to this machine: runs the commands of testbed_network.h, keeps the file of each test-bed,
// and looks after the processes in it. Call from the main thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/status.h"
#include "common/testbed/testbed.h"

namespace weft {

// FAILED_PRECONDITION names what this process or machine lacks: a capability, a program, leave to make namespaces.
Status CheckTestbedPossible();

struct TestbedRequest {
  std::string name;
  std::vector<std::int64_t> bits_per_second{};  // by host
  std::int64_t latency_us = 0;
};

// Makes it, or leaves nothing. ALREADY_EXISTS; UNIMPLEMENTED: a latency where the kernel has no netem;
// RESOURCE_EXHAUSTED: no subnet is free; what `ip` or `tc` said.
Result<Testbed> BringUpTestbed(const TestbedRequest& request);

// Kills what runs in it and removes it, also one that was only half made. NOT_FOUND.
Status TakeDownTestbed(const std::string& name);

// NOT_FOUND: there is none of that name. INVALID_ARGUMENT: its file is not one.
Result<Testbed> LoadTestbed(const std::string& name);
// In alphabetical order; those whose making or removal was interrupted too.
std::vector<std::string> TestbedNames();

// The host as a person names it: its number, or "control". INVALID_ARGUMENT.
Result<TestbedHost> FindTestbedHost(const Testbed& testbed, const std::string& host);

Status SetTestbedRate(const std::string& name, int host, std::int64_t bits_per_second);
Status CutTestbedHost(const std::string& name, int host, bool cut);
// Is the host cut off?
Result<bool> IsTestbedHostCut(const Testbed& testbed, int host);

// The processes in the network of a host, now.
std::vector<pid_t> ProcessesOn(const TestbedHost& host);

}  // namespace weft
