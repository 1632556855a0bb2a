#include "agent/transport/register_service.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "agent/transport/register_tags.h"
#include "agent/transport/rendezvous.h"
#include "common/check.h"
#include "common/log.h"
#include "common/mutex.h"

namespace weft {
namespace {

constexpr int kSlots = 128;
constexpr int kTries = 10;
constexpr std::size_t kWord = sizeof(std::uint64_t);

enum class RequestKind : std::uint32_t { kGet, kPut, kFetch };

struct Request {
  RequestKind kind = RequestKind::kGet;
  std::uint32_t slot = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t operation = 0;  // a FetchOperation
  std::uint64_t operand = 0;
};
static_assert(sizeof(Request) == 40);

// Whether a request that came over the wire is one for a register of `bytes` bytes.
bool IsSound(const Request& request, std::size_t bytes) {
  const bool words = request.offset % kWord == 0 && request.bytes % kWord == 0;
  const bool inside = request.offset <= bytes && request.bytes <= bytes - request.offset;
  const bool kind = request.kind <= RequestKind::kFetch &&
                    (request.kind != RequestKind::kFetch ||
                     (request.bytes == kWord && request.operation <= static_cast<std::uint64_t>(FetchOperation::kAnd)));
  return words && inside && kind && request.slot < kSlots;
}

}  // namespace

// Owned by the completions too.
class RegisterService::State : public std::enable_shared_from_this<State> {
 public:
  State(Transport& transport, const RegistersOptions& options, int instance)
      : transport_(transport),
        instance_(instance),
        ranks_(options.ranks),
        memory_(options.bytes),
        peers_(static_cast<std::size_t>(options.ranks)) {
    for (Peer& peer : peers_) {
      for (std::uint32_t slot = kSlots; slot-- > 0;) peer.free_slots.push_back(slot);
    }
  }

  struct Operation {
    int rank = 0;
    Request request;
    SharedBytes data;  // read into, or written from
    RegisterDone done;
  };

  std::span<std::byte> local() const { return memory_.bytes(); }
  int rank() const { return transport_.rank(); }

  void Serve() {
    for (int peer = 0; peer < ranks_; ++peer) {
      if (peer != transport_.rank()) ServeNext(peer);
    }
  }

  void Begin(std::shared_ptr<Operation> operation) WEFT_EXCLUDES(mutex_) {
    CheckWords(operation->request.offset, operation->request.bytes, local().size());
    WEFT_CHECK(operation->rank >= 0 && operation->rank < ranks_) << operation->rank;
    if (operation->rank == transport_.rank()) {
      const Request& request = operation->request;
      const std::span<std::byte> words = local().subspan(request.offset, request.bytes);
      if (request.kind == RequestKind::kPut) StoreWords(*operation->data, words);
      if (request.kind == RequestKind::kGet) LoadWords(words, *operation->data);
      if (request.kind == RequestKind::kFetch) FetchInto(request, *operation->data);
      return operation->done(OkStatus());
    }
    {
      const MutexLock lock(mutex_);
      Peer& peer = PeerOf(operation->rank);
      if (peer.free_slots.empty()) {
        peer.waiting.push_back(std::move(operation));
        return;
      }
      operation->request.slot = peer.free_slots.back();
      peer.free_slots.pop_back();
    }
    Ask(operation);
  }

 private:
  struct Peer {
    std::vector<std::uint32_t> free_slots{};
    std::deque<std::shared_ptr<Operation>> waiting{};  // for a slot
  };

  Peer& PeerOf(int rank) WEFT_REQUIRES(mutex_) { return peers_[static_cast<std::size_t>(rank)]; }
  Tag TagOf(RegisterChannel channel, std::uint32_t slot) const {
    return RegisterTag(instance_, channel, static_cast<int>(slot));
  }
  void FetchInto(const Request& request, std::vector<std::byte>& before) {
    const std::uint64_t word =
        FetchWord(local(), request.offset, static_cast<FetchOperation>(request.operation), request.operand);
    std::memcpy(before.data(), &word, kWord);
  }

  // The asking side.

  void Ask(const std::shared_ptr<Operation>& operation) {
    transport_.Send(
        operation->rank, TagOf(RegisterChannel::kRequest, 0), std::as_bytes(std::span(&operation->request, 1)),
        [self = shared_from_this(), operation](const Status& status) {
          if (!status.ok()) return self->End(operation, status);
          if (operation->request.kind != RequestKind::kPut) return self->AwaitAnswer(operation);
          const Tag tag = self->TagOf(RegisterChannel::kData, operation->request.slot);
          self->SendAgain(operation->rank, tag, operation->data, kTries, [self, operation](const Status& sent) {
            // The peer still expects the data: the slot is not used again.
            if (!sent.ok()) return operation->done(sent);
            self->AwaitAnswer(operation);
          });
        });
  }

  void AwaitAnswer(const std::shared_ptr<Operation>& operation) {
    const std::span<std::byte> into =
        operation->request.kind == RequestKind::kPut ? std::span<std::byte>() : std::span<std::byte>(*operation->data);
    transport_.Receive(operation->rank, TagOf(RegisterChannel::kAnswer, operation->request.slot), into,
                       [self = shared_from_this(), operation](const Status& status) { self->End(operation, status); });
  }

  void End(const std::shared_ptr<Operation>& operation, const Status& status) WEFT_EXCLUDES(mutex_) {
    std::shared_ptr<Operation> next;
    {
      const MutexLock lock(mutex_);
      Peer& peer = PeerOf(operation->rank);
      if (peer.waiting.empty()) {
        peer.free_slots.push_back(operation->request.slot);
      } else {
        next = std::move(peer.waiting.front());
        peer.waiting.pop_front();
        next->request.slot = operation->request.slot;
      }
    }
    operation->done(status);
    if (next) Ask(next);
  }

  // The answering side.

  void ServeNext(int peer) {
    auto request = std::make_shared<Request>();
    transport_.Receive(peer, TagOf(RegisterChannel::kRequest, 0), std::as_writable_bytes(std::span(request.get(), 1)),
                       [self = shared_from_this(), peer, request](const Status& status) {
                         if (!status.ok()) return;  // the peer is gone, or the transport ends
                         if (!IsSound(*request, self->local().size())) {
                           LogError("register request is broken: its sender is served no more",
                                    {{"from", peer}, {"offset", request->offset}, {"bytes", request->bytes}});
                           return;
                         }
                         self->ServeNext(peer);
                         self->Answer(peer, *request);
                       });
  }

  void Answer(int peer, const Request& request) {
    const std::span<std::byte> words = local().subspan(request.offset, request.bytes);
    const Tag answer = TagOf(RegisterChannel::kAnswer, request.slot);
    // Not the words themselves: those change while they are sent, and a transport reads them by the byte.
    auto data = std::make_shared<std::vector<std::byte>>(request.bytes);
    if (request.kind == RequestKind::kPut) {
      transport_.Receive(peer, TagOf(RegisterChannel::kData, request.slot), *data,
                         [self = shared_from_this(), peer, answer, words, data](const Status& status) {
                           if (!status.ok()) return;
                           StoreWords(*data, words);
                           self->SendAgain(peer, answer, nullptr, kTries, [](const Status&) {});
                         });
      return;
    }
    if (request.kind == RequestKind::kGet) LoadWords(words, *data);
    if (request.kind == RequestKind::kFetch) FetchInto(request, *data);
    SendAgain(peer, answer, data, kTries, [](const Status&) {});
  }

  // Sends `data`, which may be none, and again when it is lost: `tries` times in all.
  void SendAgain(int to, Tag tag, const SharedBytes& data, int tries, const RegisterDone& done) {
    const std::span<const std::byte> bytes = data ? std::span<const std::byte>(*data) : std::span<const std::byte>();
    transport_.Send(to, tag, bytes, [self = shared_from_this(), to, tag, data, tries, done](const Status& status) {
      if (status.code() == StatusCode::kUnavailable && tries > 1) {
        return self->SendAgain(to, tag, data, tries - 1, done);
      }
      done(status);
    });
  }

  Transport& transport_;
  const int instance_;
  const int ranks_;
  const RegisterMemory memory_;

  Mutex mutex_;
  std::vector<Peer> peers_ WEFT_GUARDED_BY(mutex_);  // by rank
};

RegisterService::RegisterService(Transport& transport, const RegistersOptions& options, int instance,
                                 std::string reason)
    : state_(std::make_shared<State>(transport, options, instance)), reason_(std::move(reason)) {
  WEFT_CHECK(instance >= 0 && instance <= kMaxRegisterInstance) << instance;
  state_->Serve();
}

std::span<std::byte> RegisterService::local() { return state_->local(); }

void RegisterService::Get(int rank, std::size_t offset, SharedBytes into, RegisterDone done) {
  const Request request{.kind = RequestKind::kGet, .offset = offset, .bytes = into->size()};
  state_->Begin(std::make_shared<State::Operation>(rank, request, std::move(into), std::move(done)));
}

void RegisterService::Put(int rank, std::size_t offset, SharedBytes from, RegisterDone done) {
  const Request request{.kind = RequestKind::kPut, .offset = offset, .bytes = from->size()};
  state_->Begin(std::make_shared<State::Operation>(rank, request, std::move(from), std::move(done)));
}

void RegisterService::Fetch(int rank, std::size_t offset, FetchOperation operation, std::uint64_t operand,
                            FetchDone done) {
  const Request request{.kind = RequestKind::kFetch,
                        .offset = offset,
                        .bytes = kWord,
                        .operation = static_cast<std::uint64_t>(operation),
                        .operand = operand};
  auto before = std::make_shared<std::vector<std::byte>>(kWord);
  state_->Begin(
      std::make_shared<State::Operation>(rank, request, before, [before, done = std::move(done)](const Status& status) {
        if (!status.ok()) return done(status);
        std::uint64_t word = 0;
        std::memcpy(&word, before->data(), kWord);
        done(word);
      }));
}

Result<int> AgreeOnInstance(Transport& transport, int ranks, int& next, TimePoint deadline) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<std::vector<std::byte>> numbers,
                        ExchangeWithAll(transport, ranks, RegisterInstanceTag(ranks),
                                        std::as_bytes(std::span(&next, 1)), deadline, "the making of registers"));
  int instance = 0;
  for (const std::vector<std::byte>& bytes : numbers) {
    int number = 0;
    std::memcpy(&number, bytes.data(), sizeof(number));
    instance = std::max(instance, number);
  }
  if (instance > kMaxRegisterInstance) {
    return ResourceExhaustedError("more than " + std::to_string(kMaxRegisterInstance) +
                                  " registers were made over one transport");
  }
  next = instance + 1;
  return instance;
}

}  // namespace weft
