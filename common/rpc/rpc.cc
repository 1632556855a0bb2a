#include "common/rpc/rpc.h"

#include <grpcpp/grpcpp.h>

namespace weft {

Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return OkStatus();
  return {static_cast<StatusCode>(status.error_code()), status.error_message()};
}

grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()), status.message()};
}

std::chrono::system_clock::time_point GrpcDeadline(TimePoint deadline) {
  const Duration left = deadline - Clock::Steady().Now();
  return std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::system_clock::duration>(left);
}

Result<std::shared_ptr<grpc::Channel>> Connect(const std::string& address, TimePoint deadline) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  // A socket that is not there yet is asked again at once, not after a second.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 20);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  auto channel = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  if (!channel->WaitForConnected(GrpcDeadline(deadline))) {
    return UnavailableError("nobody answers at " + address);
  }
  return channel;
}

}  // namespace weft
