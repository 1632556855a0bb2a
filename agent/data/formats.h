// The readers behind LoadDataset, one a format. All errors are INVALID_ARGUMENT and name the file, the value and the
// rule.
#pragma once

#include <memory>
#include <string>

#include "agent/data/dataset.h"
#include "common/status.h"

namespace weft {

// No split may take more memory than this. A header that asks for more is foreign, and a gzip file that holds more is
// refused before it fills the machine.
inline constexpr std::uint64_t kMaximumSplitBytes = std::uint64_t{8} << 30;

// {train,t10k}-{images-idx3,labels-idx1}-ubyte[.gz] in `folder`: the MNIST family, 10 classes, images of any one size.
// Refused: a file that is missing, cut short, goes on, or is not IDX of unsigned bytes with 3 (1) dimensions; counts
// that differ between images and labels; no images; a label above 9; test images of another size.
Result<std::unique_ptr<Dataset>> LoadIdx(const std::string& folder);

// data_batch_{1..5}.bin and test_batch.bin, each [.gz], in `folder`: records of a label and 3 x 32 x 32 bytes.
// Refused: a file that is missing, empty, or no whole number of records; a label above 9.
Result<std::unique_ptr<Dataset>> LoadCifar10(const std::string& folder);

// The bytes of the file, or of the folder's files in the order of their names, joined. The last tenth is the test
// split. A sample is `context` + 1 bytes; the next one begins with the last byte of the one before, so that each byte
// but the first is predicted once. Refused: a path that is missing; a folder without files; a split too short for one
// sample; `context` below 1.
Result<std::unique_ptr<Dataset>> LoadText(const std::string& path, int context);

}  // namespace weft
