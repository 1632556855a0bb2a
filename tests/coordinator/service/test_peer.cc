#include "tests/coordinator/service/test_peer.h"

#include <utility>

#include "common/rpc/rpc.h"

namespace weft {

constexpr Duration kPatience = std::chrono::seconds(30);

TestPeer::TestPeer(const std::string& address, int rank, int workers) : rank_(rank), workers_(workers) {
  const TimePoint deadline = Clock::Steady().Now() + kPatience;
  stub_ = v1::Coordinator::NewStub(Connect(address, deadline).value());
  context_.set_deadline(GrpcDeadline(deadline));
  stream_ = stub_->Attend(&context_);
}

void TestPeer::Register(std::uint64_t generation, const std::string& job) {
  generation_ = generation;
  v1::AgentMessage message;
  v1::Register& registration = *message.mutable_register_();
  registration.set_job(job);
  registration.set_role(rank_ < workers_ ? v1::ROLE_WORKER : v1::ROLE_SERVER);
  registration.set_rank(static_cast<std::uint32_t>(rank_));
  registration.set_index(static_cast<std::uint32_t>(rank_ < workers_ ? rank_ : rank_ - workers_));
  registration.set_pid(1000 + rank_);
  registration.set_transport("test");
  Send(std::move(message));
}

void TestPeer::Send(v1::AgentMessage message) {
  message.set_generation(generation_);
  stream_->Write(message);
}

std::optional<v1::CoordinatorMessage> TestPeer::Receive() {
  v1::CoordinatorMessage message;
  if (!stream_->Read(&message)) return std::nullopt;
  return message;
}

Status TestPeer::Close() {
  stream_->WritesDone();
  while (Receive().has_value()) {
  }
  return FromGrpc(stream_->Finish());
}

}  // namespace weft
