// A rank for tests: speaks proto/coordinator.proto over the real socket, and trains nothing.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <string>

#include "common/status.h"
#include "proto/coordinator.grpc.pb.h"

namespace weft {

// Used by one thread. Every call ends within half a minute.
class TestPeer {
 public:
  // Rank `rank` of `workers` workers and the servers behind them.
  TestPeer(const std::string& address, int rank, int workers);

  void Register(std::uint64_t generation, const std::string& job);
  void Send(v1::AgentMessage message);
  // The next message; none when the stream has ended.
  std::optional<v1::CoordinatorMessage> Receive();
  // No more is sent, as a rank that ends does. Returns the stream's status.
  Status Close();
  // As a rank that is killed.
  void Die() { context_.TryCancel(); }

 private:
  const int rank_;
  const int workers_;
  std::uint64_t generation_ = 0;
  std::unique_ptr<v1::Coordinator::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::CoordinatorMessage>> stream_;
};

}  // namespace weft
