// quantizer_fuzz_corpus DIRECTORY: writes inputs that quantizer_fuzz begins with: messages as encoders write them, with
// keys near and far, of widths and sizes that take each path.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "common/check.h"
#include "tests/fuzz/quantizer_fuzz_input.h"

namespace weft {
namespace {

using Operation = QuantizerFuzzInput::Operation;

void WriteInput(const std::filesystem::path& directory, const QuantizerFuzzInput& input) {
  const std::vector<std::uint8_t> bytes = FormatFuzzInput(input);
  const std::string name = std::to_string(input.options.bits) + (input.options.rotation ? "r-" : "-") +
                           std::to_string(input.count) + "-" + std::to_string(static_cast<int>(input.operation)) +
                           (input.valid_header ? "h" : "");
  std::ofstream file(directory / name, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  WEFT_CHECK(file.good()) << "writing " << name;
}

void WriteCase(const std::filesystem::path& directory, QuantizerFuzzInput input) {
  Quantizer quantizer(input.options, input.count);
  std::vector<float> x(input.count), decoded(input.count);
  for (std::size_t i = 0; i < input.count; ++i) x[i] = static_cast<float>(i * 7919 % 1013) / 500 - 1;
  for (const bool valid_header : {false, true}) {
    input.valid_header = valid_header;
    input.operation = Operation::kAddDelta;
    input.data.assign(quantizer.delta_bytes(), std::byte{0});
    WEFT_CHECK(quantizer.EncodeDelta(x, {.writer = 1, .version = 2}, input.data, decoded).ok());
    WriteInput(directory, input);
    input.operation = Operation::kReadRegister;
    input.data.assign(quantizer.register_bytes(), std::byte{0});
    // Far from the reader's key for small blocks, near for large ones.
    const std::vector<float> y_max(quantizer.blocks(), input.count < 1000 ? 0.001F : 4.0F);
    WEFT_CHECK(quantizer.EncodeRegister(x, {.writer = 1, .version = 2}, y_max, input.data).ok());
    WriteInput(directory, input);
  }
  input.operation = Operation::kRoundTrip;
  input.data.resize(input.count * sizeof(float));
  if (input.count > 0) std::memcpy(input.data.data(), x.data(), input.data.size());
  WriteInput(directory, input);
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: quantizer_fuzz_corpus DIRECTORY\n";
    return 2;
  }
  std::filesystem::create_directories(argv[1]);
  for (const int bits : {0, 2, 3, 4, 5, 8, 11, 16}) {
    for (const bool rotation : {false, true}) {
      for (const std::size_t count : {0U, 1U, 65U, 300U, 4097U}) {
        weft::WriteCase(argv[1], {.options = {.bits = bits, .rotation = rotation, .seed = 1}, .count = count});
      }
    }
  }
}
