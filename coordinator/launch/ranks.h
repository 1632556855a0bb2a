// The command that starts a generation's ranks: mpirun, its settings and the agents' flags. All ranks run on this
// machine, or rank r on hosts[r], whose daemon mpirun starts through a remote shell. A value, so that it is tested
// without a launch. docs/design/coordinator.md tells why each setting.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/launch/process.h"

namespace weft {

// What carries the messages of ranks on one machine: shared memory, or TCP as between machines (to measure what that
// costs), or UCX over RDMA hardware.
enum class RankTransport { kSharedMemory, kTcp, kRdma };

struct RankLaunch {
  std::string agent_path;
  std::string coordinator_address;  // "unix:/tmp/weft-x/c", "ipv4:10.213.0.254:4711"
  std::uint64_t generation = 1;
  std::string job;
  int workers = 1;
  int servers = 0;
  std::vector<std::string> hosts{};  // IPv4 addresses, one a rank, reached over `interface`; empty: this machine
  std::string testbed_path{};        // with hosts: the file that tells the remote shell where they are
  std::string search_path{};         // with hosts: PATH, where mpirun finds the remote shell
  RankTransport transport = RankTransport::kSharedMemory;
  std::string interface {};  // kTcp: a network interface or its address range; empty: the loopback interface
  int metrics_port = 0;      // of the coordinator; rank r serves at metrics_port + 1 + r; 0: any free ports
  int peer_timeout_seconds = 30;
  int inject_delay_us = 0;  // 0: none
  std::uint64_t inject_seed = 1;
  std::string inject_rate_file{};   // empty: none
  std::string temporary_directory;  // the generation's own: mpirun's session files
  std::string segment_directory;    // the generation's own, in memory where there is one: shared segments
  std::string log_path;             // what mpirun and the ranks print
};

Command MakeRankCommand(const RankLaunch& launch);

}  // namespace weft
