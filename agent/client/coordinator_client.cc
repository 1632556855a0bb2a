#include "agent/client/coordinator_client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>

#include "proto/coordinator.grpc.pb.h"

namespace weft {

struct CoordinatorClient::Stream {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::Coordinator::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::CoordinatorMessage>> stream;
};

Result<std::unique_ptr<CoordinatorClient>> CoordinatorClient::Connect(const std::string& address,
                                                                      std::uint64_t generation, TimePoint deadline,
                                                                      Handlers handlers) {
  auto stream = std::make_unique<Stream>();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);           // a plan of 10,000 layers passes the default 4 MiB
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // the coordinator is never behind one
  stream->channel = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  const auto wall_deadline =
      std::chrono::system_clock::now() +
      std::chrono::duration_cast<std::chrono::system_clock::duration>(deadline - Clock::Steady().Now());
  if (!stream->channel->WaitForConnected(wall_deadline)) {
    return UnavailableError("the coordinator at " + address + " did not answer in time");
  }
  stream->stub = v1::Coordinator::NewStub(stream->channel);
  stream->stream = stream->stub->Attend(&stream->context);
  return std::unique_ptr<CoordinatorClient>(new CoordinatorClient(generation, std::move(handlers), std::move(stream)));
}

CoordinatorClient::CoordinatorClient(std::uint64_t generation, Handlers handlers, std::unique_ptr<Stream> stream)
    : generation_(generation), handlers_(std::move(handlers)), stream_(std::move(stream)) {
  reader_ = std::thread([this] { ReadLoop(); });
}

CoordinatorClient::~CoordinatorClient() {
  // First, since a Send to a coordinator that has stopped reading holds the mutex that Close takes.
  stream_->context.TryCancel();
  Close();
  reader_.join();
}

void CoordinatorClient::ReadLoop() {
  v1::CoordinatorMessage message;
  while (stream_->stream->Read(&message)) {
    // A coordinator that restarted speaks for a newer generation; this rank belongs to the one it was started for.
    if (message.generation() == generation_) handlers_.on_message(*this, message);
  }
  const grpc::Status status = stream_->stream->Finish();
  {
    MutexLock lock(mutex_);
    if (closed_) return;
    closed_ = true;
  }
  handlers_.on_lost(status.ok() ? UnavailableError("the coordinator ended the stream")
                                : Status(static_cast<StatusCode>(status.error_code()),
                                         "the coordinator is gone: " + status.error_message()));
}

Status CoordinatorClient::Send(v1::AgentMessage message) {
  message.set_generation(generation_);
  MutexLock lock(mutex_);
  if (closed_ || !stream_->stream->Write(message)) return UnavailableError("the coordinator is gone");
  return OkStatus();
}

void CoordinatorClient::Close() {
  MutexLock lock(mutex_);
  if (closed_) return;
  closed_ = true;
  stream_->stream->WritesDone();
}

}  // namespace weft
