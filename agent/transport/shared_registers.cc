#include "agent/transport/shared_registers.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "agent/transport/register_memory.h"
#include "agent/transport/register_tags.h"
#include "agent/transport/rendezvous.h"
#include "common/check.h"
#include "common/mutex.h"

namespace weft {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t Stride(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Rank 0's memory and where it is.
struct Offer {
  SharedSegment::Address address;
  char host[72] = {};     // ends with a zero
  char network[72] = {};  // likewise: the network namespace
};

void FillPlace(Offer& offer) {
  gethostname(offer.host, sizeof(offer.host) - 1);
  // Ranks that reach each other over a network only, as in a test-bed on one machine, shall do so.
  const ssize_t size = readlink("/proc/self/ns/net", offer.network, sizeof(offer.network) - 1);
  if (size < 0) offer.network[0] = '\0';
}

Result<std::unique_ptr<SharedSegment>> Accept(const Offer& offer) {
  Offer mine;
  FillPlace(mine);
  if (std::strcmp(mine.host, offer.host) != 0) {
    return UnimplementedError(std::string("it is on host ") + mine.host + ", rank 0 on " + offer.host);
  }
  if (std::strcmp(mine.network, offer.network) != 0) {
    return UnimplementedError(std::string("it is in network namespace ") + mine.network + ", rank 0 in " +
                              offer.network);
  }
  return SharedSegment::Open(offer.address);
}

// What a rank says of the memory, in a message of fixed size.
struct Verdict {
  bool maps = false;
  char error[200] = {};  // ends with a zero
};

Verdict VerdictOf(const Status& status) {
  Verdict verdict{.maps = status.ok()};
  const std::string text = status.message().substr(0, sizeof(verdict.error) - 1);
  std::copy(text.begin(), text.end(), verdict.error);
  return verdict;
}

template <typename T>
T ValueOf(const std::vector<std::byte>& bytes) {
  T value;
  WEFT_CHECK(bytes.size() == sizeof(T));
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

}  // namespace

// Tells which ranks are gone, and whether the transport was aborted: receives of what never comes end then.
class SharedRegisters::Watch {
 public:
  explicit Watch(int ranks) : ends_(static_cast<std::size_t>(ranks)) {}

  static void Start(const std::shared_ptr<Watch>& watch, Transport& transport, int ranks, Tag tag) {
    for (int peer = 0; peer < ranks; ++peer) {
      transport.Receive(peer, tag, {}, [watch, peer](const Status& status) { watch->End(peer, status); });
    }
  }

  // OK, or why there are no operations with `rank` any more.
  Status StatusOf(int rank) WEFT_EXCLUDES(mutex_) {
    if (!some_ended_.load(std::memory_order_acquire)) return OkStatus();
    const MutexLock lock(mutex_);
    return ends_[static_cast<std::size_t>(rank)];
  }

 private:
  void End(int peer, const Status& status) WEFT_EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      ends_[static_cast<std::size_t>(peer)] = status;
    }
    some_ended_.store(true, std::memory_order_release);
  }

  std::atomic<bool> some_ended_ = false;
  Mutex mutex_;
  std::vector<Status> ends_ WEFT_GUARDED_BY(mutex_);  // by rank
};

Result<std::unique_ptr<SharedRegisters>> SharedRegisters::Make(Transport& transport, const RegistersOptions& options,
                                                               int instance, TimePoint deadline) {
  const std::string what = "the sharing of memory";
  const auto exchange = [&](const auto& mine) {
    return ExchangeWithAll(transport, options.ranks, RegisterTag(instance, RegisterChannel::kAgreement, 0),
                           std::as_bytes(std::span(&mine, 1)), deadline, what);
  };
  std::unique_ptr<SharedSegment> memory;
  Offer offer;
  Status mapped;
  if (transport.rank() == 0) {
    auto made = SharedSegment::Make(Stride(options.bytes) * static_cast<std::size_t>(options.ranks));
    if (made.ok()) {
      memory = std::move(made).value();
      offer.address = memory->address();
      FillPlace(offer);
    } else {
      mapped = made.status();
    }
  }
  WEFT_ASSIGN_OR_RETURN(const std::vector<std::vector<std::byte>> offers, exchange(offer));
  if (transport.rank() != 0) {
    auto opened = Accept(ValueOf<Offer>(offers[0]));
    if (opened.ok()) {
      memory = std::move(opened).value();
    } else {
      mapped = opened.status();
    }
  }
  const Verdict mine = VerdictOf(mapped);
  WEFT_ASSIGN_OR_RETURN(const std::vector<std::vector<std::byte>> verdicts, exchange(mine));
  for (std::size_t rank = 0; rank < verdicts.size(); ++rank) {
    const auto verdict = ValueOf<Verdict>(verdicts[rank]);
    if (!verdict.maps) return UnimplementedError("rank " + std::to_string(rank) + ": " + verdict.error);
  }
  memory->Close();
  return std::unique_ptr<SharedRegisters>(new SharedRegisters(transport, options, std::move(memory), instance));
}

SharedRegisters::SharedRegisters(Transport& transport, const RegistersOptions& options,
                                 std::unique_ptr<SharedSegment> memory, int instance)
    : rank_(transport.rank()),
      ranks_(options.ranks),
      bytes_(options.bytes),
      memory_(std::move(memory)),
      watch_(std::make_shared<Watch>(options.ranks)),
      reason_(options.ranks == 1 ? "there is one rank"
                                 : "all " + std::to_string(options.ranks) + " ranks are on one host") {
  Watch::Start(watch_, transport, ranks_, RegisterTag(instance, RegisterChannel::kAnswer, 0));
}

SharedRegisters::~SharedRegisters() = default;

std::span<std::byte> SharedRegisters::MemoryOf(int rank) const {
  WEFT_CHECK(rank >= 0 && rank < ranks_) << "rank " << rank;
  return memory_->bytes().subspan(static_cast<std::size_t>(rank) * Stride(bytes_), bytes_);
}

void SharedRegisters::Get(int rank, std::size_t offset, SharedBytes into, RegisterDone done) {
  CheckWords(offset, into->size(), bytes_);
  Status status = watch_->StatusOf(rank);
  if (status.ok()) LoadWords(MemoryOf(rank).subspan(offset, into->size()), *into);
  done(status);
}

void SharedRegisters::Put(int rank, std::size_t offset, SharedBytes from, RegisterDone done) {
  CheckWords(offset, from->size(), bytes_);
  Status status = watch_->StatusOf(rank);
  if (status.ok()) StoreWords(*from, MemoryOf(rank).subspan(offset, from->size()));
  done(status);
}

void SharedRegisters::Fetch(int rank, std::size_t offset, FetchOperation operation, std::uint64_t operand,
                            FetchDone done) {
  const std::span<std::byte> memory = MemoryOf(rank);
  if (const Status status = watch_->StatusOf(rank); !status.ok()) return done(status);
  done(FetchWord(memory, offset, operation, operand));
}

}  // namespace weft
