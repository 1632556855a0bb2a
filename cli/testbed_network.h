// The commands (of iproute2) that make, change and remove a test-bed's network. Values: nothing is run here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"
#include "common/testbed/testbed.h"

namespace weft {

using ToolCommand = std::vector<std::string>;  // "ip", "netns", "add", …

// A rate as `tc` writes it: "10mbit", "1gbit", "250000bit"; decimal, and fractions are allowed. Bits a second.
// INVALID_ARGUMENT: no number with bit, kbit, mbit or gbit behind it, or not in [100kbit, 100gbit].
Result<std::int64_t> ParseRate(const std::string& text);
// The shortest text that ParseRate takes back.
std::string RateText(std::int64_t bits_per_second);

// What a token bucket needs besides its rate.
struct Shaping {
  std::int64_t burst_bytes = 0;  // what may leave at once after a pause
  std::int64_t limit_bytes = 0;  // what may wait; beyond, packets are dropped
};
// Burst: what 1 ms carries (a timer that is late by less loses nothing), and at least three full packets. Limit: what
// 20 ms carry, and at least 64 KiB: a switch's buffer rather than a router's, so that latency under load stays small.
Shaping ShapingFor(std::int64_t bits_per_second);

// All of a new test-bed, in order. Its namespaces must not exist.
std::vector<ToolCommand> UpCommands(const Testbed& testbed);
// Gives `host` another rate in both directions.
std::vector<ToolCommand> RateCommands(const Testbed& testbed, int host, std::int64_t bits_per_second);
// Takes the switch's end of the host's link down (and up again), as a pulled cable: nothing gets through, and nobody at
// either end is told. (A bridge port's state, as of a spanning tree, is accepted and changes nothing.)
ToolCommand CutCommand(const Testbed& testbed, int host, bool cut);
// Prints the bridge's port of `host`, its state among the rest.
ToolCommand PortCommand(const Testbed& testbed, int host);

}  // namespace weft
