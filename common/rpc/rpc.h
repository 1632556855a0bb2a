// gRPC at the edges: its status as ours, deadlines on our clock, channels and servers with our limits.
#pragma once

#include <grpcpp/support/status.h>

#include <chrono>
#include <memory>
#include <string>

#include "common/clock.h"
#include "common/status.h"

namespace grpc {
class Channel;
}

namespace weft {

// The longest path of a UNIX socket, in bytes: sun_path holds 108 with its closing zero.
inline constexpr std::size_t kMaxSocketPathBytes = 107;

Status FromGrpc(const grpc::Status& status);
grpc::Status ToGrpc(const Status& status);

// `deadline` of the monotonic clock as the wall-clock time that gRPC takes.
std::chrono::system_clock::time_point GrpcDeadline(TimePoint deadline);

// A channel to `address` ("unix:/tmp/x/c" or "host:port") once somebody answers; UNAVAILABLE at `deadline`. Messages
// may have any size: a plan of 10,000 layers passes the default 4 MiB.
Result<std::shared_ptr<grpc::Channel>> Connect(const std::string& address, TimePoint deadline);

}  // namespace weft
