#include "agent/transport/register_memory.h"

#include <atomic>
#include <cstring>
#include <new>

#include "common/check.h"

namespace weft {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr std::size_t kWord = sizeof(std::uint64_t);

}  // namespace

RegisterMemory::RegisterMemory(std::size_t bytes)
    : bytes_(bytes), memory_(static_cast<std::byte*>(::operator new[](bytes, kAlignment))) {
  std::memset(memory_.get(), 0, bytes);
}

void RegisterMemory::Free::operator()(std::byte* memory) const { ::operator delete[](memory, kAlignment); }

std::uint64_t FetchWord(std::span<std::byte> memory, std::size_t offset, FetchOperation operation,
                        std::uint64_t operand) {
  CheckWords(offset, kWord, memory.size());
  const std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(memory.data() + offset));
  switch (operation) {
    case FetchOperation::kAdd:
      return word.fetch_add(operand);
    case FetchOperation::kOr:
      return word.fetch_or(operand);
    case FetchOperation::kAnd:
      return word.fetch_and(operand);
  }
  return 0;
}

void CheckWords(std::size_t offset, std::size_t size, std::size_t bytes) {
  WEFT_CHECK(offset % kWord == 0 && size % kWord == 0) << offset << " + " << size << " are not whole words";
  WEFT_CHECK(offset <= bytes && size <= bytes - offset) << offset << " + " << size << " of " << bytes << " bytes";
}

}  // namespace weft
