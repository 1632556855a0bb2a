#include "coordinator/service/attend_service.h"

#include <grpcpp/grpcpp.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "common/rpc/rpc.h"
#include "proto/coordinator.grpc.pb.h"

namespace weft {
namespace {

constexpr Duration kShutdownTime = std::chrono::milliseconds(500);
// Of one stream, before the loop has taken them. No more is read: gRPC's flow control then makes the rank wait with its
// reports. Without it a coordinator that gets too little of its processor would hear of a vote minutes late.
constexpr int kMostWaiting = 2;

// The outgoing half of a stream: one write at a time, then the end. `Reactor` is the gRPC reactor that is written to;
// its operations may be started under the lock, for gRPC runs reactions on threads of its own.
template <typename Reactor, typename Message>
class Outbox {
 public:
  explicit Outbox(Reactor* reactor) : reactor_(reactor) {}

  // The thread that ended the stream may still be on its way out of `End`.
  ~Outbox() { const MutexLock lock(mutex_); }

  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  void Push(Message message) WEFT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (end_.has_value()) return;
    messages_.push_back(std::move(message));
    if (messages_.size() == 1) reactor_->StartWrite(&messages_.front());
  }

  // Instead of the last message that waits, where `replaces` says so of it.
  template <typename Replaces>
  void PushInPlace(Message message, const Replaces& replaces) WEFT_EXCLUDES(mutex_) {
    {
      MutexLock lock(mutex_);
      // The first is being written.
      if (!end_.has_value() && messages_.size() > 1 && replaces(messages_.back())) {
        messages_.back() = std::move(message);
        return;
      }
    }
    Push(std::move(message));
  }

  void OnWritten(bool ok) WEFT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (ok) {
      messages_.pop_front();
    } else {
      messages_.clear();
    }
    if (!messages_.empty()) {
      reactor_->StartWrite(&messages_.front());
    } else if (end_.has_value()) {
      FinishOnce();
    }
  }

  // The first end counts.
  void End(const grpc::Status& status) WEFT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (!end_.has_value()) end_ = status;
    if (messages_.empty()) FinishOnce();
  }

 private:
  void FinishOnce() WEFT_REQUIRES(mutex_) {
    if (std::exchange(finished_, true)) return;
    reactor_->Finish(*end_);
  }

  Reactor* const reactor_;
  Mutex mutex_;
  std::deque<Message> messages_ WEFT_GUARDED_BY(mutex_);  // the first is being written
  std::optional<grpc::Status> end_ WEFT_GUARDED_BY(mutex_);
  bool finished_ WEFT_GUARDED_BY(mutex_) = false;
};

}  // namespace

class AttendService::Impl final : public v1::Coordinator::CallbackService {
 public:
  ~Impl() override {
    if (server_ == nullptr) return;
    {
      // A stream ends by a read that fails.
      MutexLock lock(mutex_);
      shutting_down_ = true;
      for (auto& [id, stream] : streams_) GoOnReading(stream);
    }
    server_->Shutdown(GrpcDeadline(Clock::Steady().Now() + kShutdownTime));
    // Waits for the last reactions, which use the members below.
    server_.reset();
  }

  Status Serve(const std::string& address, const std::string& host) {
    grpc::ServerBuilder builder;
    int bound = 0;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &bound);
    if (!host.empty()) builder.AddListeningPort(host + ":0", grpc::InsecureServerCredentials(), &port_);
    builder.SetMaxReceiveMessageSize(-1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);  // it would let megabytes wait unread
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || bound == 0) return UnavailableError("can't listen at " + address);
    if (!host.empty() && port_ == 0) return UnavailableError("can't listen at " + host);
    return OkStatus();
  }

  int port() const { return port_; }

  std::optional<ServiceEvent> WaitUntil(TimePoint deadline) WEFT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (events_.empty()) {
      if (!changed_.WaitUntil(mutex_, deadline) && events_.empty()) return std::nullopt;
    }
    ServiceEvent event = std::move(events_.front());
    events_.pop_front();
    if (const auto* arrived = std::get_if<MessageArrived>(&event)) {
      if (const auto stream = streams_.find(arrived->stream); stream != streams_.end()) {
        --stream->second->waiting;
        GoOnReading(stream->second);
      }
    }
    return event;
  }

  void Send(StreamId id, v1::CoordinatorMessage message) WEFT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    const auto stream = streams_.find(id);
    if (stream != streams_.end()) stream->second->outbox.Push(std::move(message));
  }

  void Close(StreamId id, const Status& status) WEFT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    const auto stream = streams_.find(id);
    if (stream == streams_.end()) return;
    stream->second->closed = true;
    // Nothing is read any more that could tell.
    if (std::exchange(stream->second->held, false)) PushLocked(StreamLost{id});
    stream->second->outbox.End(ToGrpc(status));
  }

  void Publish(v1::RunEvent event) WEFT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    const auto is_progress = [](const v1::RunEvent& waiting) { return waiting.has_progress(); };
    for (Watcher* watcher : watchers_) {
      if (event.has_progress()) {
        watcher->outbox.PushInPlace(event, is_progress);
      } else {
        watcher->outbox.Push(event);
      }
    }
    if (event.has_progress()) {
      progress_ = std::move(event);
      return;
    }
    // Nothing comes behind the end.
    if (event.has_ended() && progress_.has_value()) history_.push_back(*std::exchange(progress_, std::nullopt));
    history_.push_back(std::move(event));
  }

  void FinishWatchers(TimePoint deadline) WEFT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    finishing_ = true;
    for (Watcher* watcher : watchers_) watcher->outbox.End(grpc::Status::OK);
    while ((!watched_ || !watchers_.empty()) && changed_.WaitUntil(mutex_, deadline)) {
    }
  }

 private:
  struct Stream final : grpc::ServerBidiReactor<v1::AgentMessage, v1::CoordinatorMessage> {
    Stream(Impl* s, StreamId i) : service(s), id(i) { StartRead(&incoming); }
    void OnReadDone(bool ok) override {
      if (!ok) {
        service->Push(StreamLost{id});
        outbox.End(grpc::Status::OK);
        return;
      }
      service->PushMessage(this);
    }
    void OnWriteDone(bool ok) override { outbox.OnWritten(ok); }
    void OnDone() override {
      service->Forget(this);
      delete this;
    }

    Impl* const service;
    const StreamId id;
    v1::AgentMessage incoming;
    // Guarded by the service's mutex.
    int waiting = 0;      // messages among its events
    bool held = false;    // no read is under way, and one may begin
    bool closed = false;  // by the loop: gRPC may be done with it at any time, so no read begins
    Outbox<Stream, v1::CoordinatorMessage> outbox{this};
  };

  struct Watcher final : grpc::ServerWriteReactor<v1::RunEvent> {
    explicit Watcher(Impl* s) : service(s) {}
    void OnWriteDone(bool ok) override { outbox.OnWritten(ok); }
    void OnCancel() override { outbox.End(grpc::Status::CANCELLED); }
    void OnDone() override {
      service->Forget(this);
      delete this;
    }

    Impl* const service;
    Outbox<Watcher, v1::RunEvent> outbox{this};
  };

  grpc::ServerBidiReactor<v1::AgentMessage, v1::CoordinatorMessage>* Attend(
      grpc::CallbackServerContext* /*context*/) override {
    MutexLock lock(mutex_);
    const StreamId id = next_stream_++;
    auto* stream = new Stream(this, id);
    streams_[id] = stream;
    return stream;
  }

  grpc::ServerWriteReactor<v1::RunEvent>* Watch(grpc::CallbackServerContext* /*context*/,
                                                const v1::WatchRequest* /*request*/) override {
    MutexLock lock(mutex_);
    auto* watcher = new Watcher(this);
    watchers_.insert(watcher);
    watched_ = true;
    for (const v1::RunEvent& event : history_) watcher->outbox.Push(event);
    if (progress_.has_value()) watcher->outbox.Push(*progress_);
    if (finishing_) watcher->outbox.End(grpc::Status::OK);
    return watcher;
  }

  grpc::ServerUnaryReactor* Stop(grpc::CallbackServerContext* context, const v1::StopRequest* /*request*/,
                                 v1::StopResponse* /*response*/) override {
    Push(StopAsked{});
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  void Push(ServiceEvent event) WEFT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    PushLocked(std::move(event));
  }
  void PushLocked(ServiceEvent event) WEFT_REQUIRES(mutex_) {
    events_.push_back(std::move(event));
    changed_.NotifyAll();
  }
  void PushMessage(Stream* stream) WEFT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (stream->closed) return PushLocked(StreamLost{stream->id});
    PushLocked(MessageArrived{stream->id, std::exchange(stream->incoming, v1::AgentMessage())});
    ++stream->waiting;
    stream->held = true;
    GoOnReading(stream);
  }
  void GoOnReading(Stream* stream) WEFT_REQUIRES(mutex_) {
    if (!stream->held || (stream->waiting >= kMostWaiting && !shutting_down_)) return;
    stream->held = false;
    stream->StartRead(&stream->incoming);
  }
  void Forget(Stream* stream) WEFT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    streams_.erase(stream->id);
  }
  void Forget(Watcher* watcher) WEFT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    watchers_.erase(watcher);
    changed_.NotifyAll();
  }

  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;  // set by Serve

  Mutex mutex_;  // taken before an outbox's
  CondVar changed_;
  std::deque<ServiceEvent> events_ WEFT_GUARDED_BY(mutex_);
  StreamId next_stream_ WEFT_GUARDED_BY(mutex_) = 1;
  std::map<StreamId, Stream*> streams_ WEFT_GUARDED_BY(mutex_);  // each deletes itself when gRPC is done with it
  std::set<Watcher*> watchers_ WEFT_GUARDED_BY(mutex_);
  bool watched_ WEFT_GUARDED_BY(mutex_) = false;  // there has been a watcher
  bool finishing_ WEFT_GUARDED_BY(mutex_) = false;
  bool shutting_down_ WEFT_GUARDED_BY(mutex_) = false;
  std::vector<v1::RunEvent> history_ WEFT_GUARDED_BY(mutex_);
  std::optional<v1::RunEvent> progress_ WEFT_GUARDED_BY(mutex_);  // the newest; none once the run has ended
};

Result<std::unique_ptr<AttendService>> AttendService::Start(const std::string& address, const std::string& host) {
  const std::string prefix = "unix:";
  if (address.starts_with(prefix) && address.size() - prefix.size() > kMaxSocketPathBytes) {
    return InvalidArgumentError("socket: '" + address.substr(prefix.size()) + "' is over " +
                                std::to_string(kMaxSocketPathBytes) + " bytes");
  }
  auto impl = std::make_unique<Impl>();
  WEFT_RETURN_IF_ERROR(impl->Serve(address, host));
  return std::unique_ptr<AttendService>(new AttendService(std::move(impl)));
}

AttendService::AttendService(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AttendService::~AttendService() = default;

int AttendService::port() const { return impl_->port(); }

std::optional<ServiceEvent> AttendService::WaitUntil(TimePoint deadline) { return impl_->WaitUntil(deadline); }
void AttendService::Send(StreamId stream, v1::CoordinatorMessage message) { impl_->Send(stream, std::move(message)); }
void AttendService::Close(StreamId stream, const Status& status) { impl_->Close(stream, status); }
void AttendService::Publish(v1::RunEvent event) { impl_->Publish(std::move(event)); }
void AttendService::FinishWatchers(TimePoint deadline) { impl_->FinishWatchers(deadline); }

}  // namespace weft
