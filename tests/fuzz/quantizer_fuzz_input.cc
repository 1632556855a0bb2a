#include "tests/fuzz/quantizer_fuzz_input.h"

#include <cstring>

namespace weft {

QuantizerFuzzInput ParseFuzzInput(std::span<const std::uint8_t> bytes) {
  QuantizerFuzzInput input;
  if (bytes.size() < 4) return input;
  const int bits = bytes[0] % 17;
  input.options = {.bits = bits == 1 ? 0 : bits, .rotation = (bytes[1] & 4U) != 0, .seed = 1};
  input.operation = static_cast<QuantizerFuzzInput::Operation>((bytes[1] & 3U) % 3U);
  input.valid_header = (bytes[1] & 8U) != 0;
  input.count = (bytes[2] + 256U * bytes[3]) % (QuantizerFuzzInput::kMostFloats + 1);
  input.data.resize(bytes.size() - 4);
  if (!input.data.empty()) std::memcpy(input.data.data(), bytes.data() + 4, input.data.size());
  return input;
}

std::vector<std::uint8_t> FormatFuzzInput(const QuantizerFuzzInput& input) {
  std::vector<std::uint8_t> bytes(4 + input.data.size());
  bytes[0] = static_cast<std::uint8_t>(input.options.bits);
  bytes[1] = static_cast<std::uint8_t>(static_cast<unsigned>(input.operation) | (input.options.rotation ? 4U : 0U) |
                                       (input.valid_header ? 8U : 0U));
  bytes[2] = static_cast<std::uint8_t>(input.count % 256);
  bytes[3] = static_cast<std::uint8_t>(input.count / 256);
  if (!input.data.empty()) std::memcpy(bytes.data() + 4, input.data.data(), input.data.size());
  return bytes;
}

}  // namespace weft
