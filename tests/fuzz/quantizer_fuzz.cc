// Whatever the bytes of a message are, the quantizer reads nothing past its end, refuses it or decodes it to finite
// numbers, and leaves a sum as it was where it refuses. And whatever floats it is given, it refuses them or what it
// writes can be read.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "agent/core/quantizer_format.h"
#include "common/check.h"
#include "common/math/finite.h"
#include "tests/fuzz/quantizer_fuzz_input.h"

namespace weft {
namespace {

// Between -1 and 1.
std::vector<float> Numbers(std::size_t count) {
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i * 40503 % 65521) / 32760.5F - 1;
  return numbers;
}

void WriteHeaderInto(std::vector<std::byte>& message, CodeKind kind, const QuantizerFuzzInput& input) {
  if (message.size() < kCodeHeaderBytes) return;
  DitherKey key;
  std::memcpy(&key.writer, message.data() + 8, sizeof(key.writer));
  std::memcpy(&key.version, message.data() + 16, sizeof(key.version));
  WriteCodeHeader(message, kind, input.options, input.count, key);
}

void AddDelta(Quantizer& quantizer, const std::vector<std::byte>& message) {
  std::vector<float> sum = Numbers(quantizer.count());
  const std::vector<float> before = sum;
  if (quantizer.AddDelta(message, sum).ok()) {
    WEFT_CHECK(AllFinite(sum)) << "a delta with a number that is not finite";
  } else {
    WEFT_CHECK(sum == before) << "a refused delta changed the sum";
  }
}

// As a reader does: the prefix, and for the blocks that do not match level after level.
void ReadRegister(Quantizer& quantizer, const std::vector<std::byte>& message) {
  const std::size_t prefix_size = std::min(message.size(), quantizer.register_prefix_bytes());
  const std::vector<std::byte> prefix(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(prefix_size));
  const std::vector<float> key = Numbers(quantizer.count());
  std::vector<float> x(quantizer.count()), distances(quantizer.blocks());
  std::vector<std::size_t> failed;
  if (!quantizer.DecodeRegister(prefix, key, x, &failed, distances).ok()) return;
  for (const std::size_t block : failed) {
    std::vector<std::vector<std::byte>> digits(1);
    bool found = false;
    for (int level = 1; level < quantizer.levels() && !found; ++level) {
      const ByteRange range = quantizer.LevelRange(block, level);
      const std::size_t begin = std::min(range.offset, message.size());
      const std::size_t end = std::min(range.offset + range.size, message.size());
      digits.emplace_back(message.begin() + static_cast<std::ptrdiff_t>(begin),
                          message.begin() + static_cast<std::ptrdiff_t>(end));
      const auto result = quantizer.DecodeBlock(prefix, block, level, digits, key, x, &distances[block]);
      if (!result.ok()) return;
      found = *result;
    }
    WEFT_CHECK(found) << "the last level did not match";
  }
  WEFT_CHECK(AllFinite(x)) << "a register with a number that is not finite";
  WEFT_CHECK(AllFinite(distances)) << "a distance that is not finite";
}

void RoundTrip(Quantizer& quantizer, const QuantizerFuzzInput& input) {
  std::vector<float> x(quantizer.count());
  const std::size_t bytes = std::min(input.data.size(), x.size() * sizeof(float));
  if (bytes > 0) std::memcpy(x.data(), input.data.data(), bytes);
  std::vector<std::byte> delta(quantizer.delta_bytes()), model(quantizer.register_bytes());
  std::vector<float> decoded(x.size()), sum(x.size());
  if (!quantizer.EncodeDelta(x, {.version = 1}, delta, decoded).ok()) return;
  WEFT_CHECK(quantizer.AddDelta(delta, sum).ok()) << "a delta that its reader refuses";
  WEFT_CHECK(sum == decoded) << "a delta that decodes to something else";
  WEFT_CHECK(AllFinite(sum)) << "a delta with a number that is not finite";
  // The key is the model itself: it always decodes.
  std::vector<std::size_t> failed;
  WEFT_CHECK(quantizer.EncodeRegister(x, {.version = 1}, std::vector(quantizer.blocks(), 0.0F), model).ok());
  model.resize(quantizer.register_prefix_bytes());
  model.shrink_to_fit();
  WEFT_CHECK(quantizer.DecodeRegister(model, x, decoded, &failed).ok()) << "a register that its reader refuses";
  WEFT_CHECK(failed.empty()) << "block " << failed.front() << " does not decode with itself as key";
}

}  // namespace
}  // namespace weft

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using Operation = weft::QuantizerFuzzInput::Operation;
  weft::QuantizerFuzzInput input = weft::ParseFuzzInput({data, size});
  weft::Quantizer quantizer(input.options, input.count);
  switch (input.operation) {
    case Operation::kAddDelta:
      if (input.valid_header) weft::WriteHeaderInto(input.data, weft::CodeKind::kDelta, input);
      weft::AddDelta(quantizer, input.data);
      break;
    case Operation::kReadRegister:
      if (input.valid_header) weft::WriteHeaderInto(input.data, weft::CodeKind::kRegister, input);
      weft::ReadRegister(quantizer, input.data);
      break;
    case Operation::kRoundTrip:
      weft::RoundTrip(quantizer, input);
  }
  return 0;
}
