// The memory behind registers that this process holds itself, and the operations on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "agent/transport/registers.h"

namespace weft {

// `bytes` zeroed bytes, 64-byte aligned.
class RegisterMemory {
 public:
  explicit RegisterMemory(std::size_t bytes);

  std::span<std::byte> bytes() const { return {memory_.get(), bytes_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::size_t bytes_;
  std::unique_ptr<std::byte[], Free> memory_;
};

// The word before. Atomic among all that change it through this function or the processor's atomics.
std::uint64_t FetchWord(std::span<std::byte> memory, std::size_t offset, FetchOperation operation,
                        std::uint64_t operand);

// Fails unless [offset, offset + size) are whole words of a register of `bytes` bytes.
void CheckWords(std::size_t offset, std::size_t size, std::size_t bytes);

}  // namespace weft
