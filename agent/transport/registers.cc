#include "agent/transport/registers.h"

#include <atomic>
#include <cstring>
#include <string>

#include "common/check.h"
#include "common/mutex.h"

namespace weft {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

// One word of memory that others may change. Acquire and release cost nothing on x86, and keep sequence numbers and
// what they guard in order.
std::atomic_ref<std::uint64_t> WordAt(const std::byte* at) {
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(at)));
}

// The end of one operation, waited for by one thread, which may have gone.
template <typename T>
class Awaited {
 public:
  void Set(T value) WEFT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    value_ = std::move(value);
    changed_.NotifyOne();
  }
  std::optional<T> Await(TimePoint deadline) WEFT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (!value_ && Clock::Steady().Now() < deadline) changed_.WaitUntil(mutex_, deadline);
    return value_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::optional<T> value_ WEFT_GUARDED_BY(mutex_);
};

Status Late(const char* action, int rank) {
  return DeadlineExceededError(std::string(action) + " rank " + std::to_string(rank) +
                               "'s register did not end before its deadline");
}

}  // namespace

const char* Name(RegisterMechanism mechanism) {
  switch (mechanism) {
    case RegisterMechanism::kSharedMemory:
      return "shared memory";
    case RegisterMechanism::kOneSided:
      return "one-sided";
    case RegisterMechanism::kOneSidedWithProgressThread:
      return "one-sided with progress thread";
    case RegisterMechanism::kService:
      return "service";
  }
  return "";
}

Status GetAndWait(Registers& registers, int rank, std::size_t offset, const SharedBytes& into, TimePoint deadline) {
  auto end = std::make_shared<Awaited<Status>>();
  registers.Get(rank, offset, into, [end](const Status& status) { end->Set(status); });
  return end->Await(deadline).value_or(Late("reading", rank));
}

Status PutAndWait(Registers& registers, int rank, std::size_t offset, const SharedBytes& from, TimePoint deadline) {
  auto end = std::make_shared<Awaited<Status>>();
  registers.Put(rank, offset, from, [end](const Status& status) { end->Set(status); });
  return end->Await(deadline).value_or(Late("writing", rank));
}

Result<std::uint64_t> FetchAndWait(Registers& registers, int rank, std::size_t offset, FetchOperation operation,
                                   std::uint64_t operand, TimePoint deadline) {
  auto end = std::make_shared<Awaited<Result<std::uint64_t>>>();
  registers.Fetch(rank, offset, operation, operand, [end](const Result<std::uint64_t>& before) { end->Set(before); });
  return end->Await(deadline).value_or(Late("changing a word of", rank));
}

void LoadWords(std::span<const std::byte> shared, std::span<std::byte> own) {
  WEFT_CHECK(shared.size() == own.size() && shared.size() % kWord == 0) << shared.size() << " to " << own.size();
  for (std::size_t offset = 0; offset < shared.size(); offset += kWord) {
    const std::uint64_t word = WordAt(shared.data() + offset).load(std::memory_order_acquire);
    std::memcpy(own.data() + offset, &word, kWord);
  }
}

void StoreWords(std::span<const std::byte> own, std::span<std::byte> shared) {
  WEFT_CHECK(shared.size() == own.size() && shared.size() % kWord == 0) << own.size() << " to " << shared.size();
  for (std::size_t offset = 0; offset < shared.size(); offset += kWord) {
    std::uint64_t word = 0;
    std::memcpy(&word, own.data() + offset, kWord);
    WordAt(shared.data() + offset).store(word, std::memory_order_release);
  }
}

std::uint64_t LoadWord(std::span<const std::byte> shared, std::size_t offset) {
  WEFT_CHECK(offset % kWord == 0 && offset + kWord <= shared.size()) << offset;
  return WordAt(shared.data() + offset).load(std::memory_order_acquire);
}

void StoreWord(std::span<std::byte> shared, std::size_t offset, std::uint64_t value) {
  WEFT_CHECK(offset % kWord == 0 && offset + kWord <= shared.size()) << offset;
  WordAt(shared.data() + offset).store(value, std::memory_order_release);
}

}  // namespace weft
