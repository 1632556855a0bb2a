// What a byte string means to quantizer_fuzz: its first four bytes choose, the rest is data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "agent/core/quantizer.h"

namespace weft {

struct QuantizerFuzzInput {
  enum class Operation : std::uint8_t { kAddDelta, kReadRegister, kRoundTrip };
  static constexpr std::size_t kMostFloats = 9000;

  Operation operation = Operation::kAddDelta;
  QuantizerOptions options;
  std::size_t count = 0;
  bool valid_header = false;    // the data's first 32 bytes are overwritten with what a reader expects
  std::vector<std::byte> data;  // a message, or the floats of a round trip
};

// The bytes: bits; operation, and 4: rotation, 8: valid header; count (2, little-endian); data.
QuantizerFuzzInput ParseFuzzInput(std::span<const std::uint8_t> bytes);
std::vector<std::uint8_t> FormatFuzzInput(const QuantizerFuzzInput& input);

}  // namespace weft
