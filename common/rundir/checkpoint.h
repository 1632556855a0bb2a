// Checkpoints: pairs of files in one folder, step-<iteration>.safetensors and step-<iteration>.json. The JSON has the
// state and the tensors' size and SHA-256; it is written last, and so is the point from which on the checkpoint is
// there. docs/format/checkpoint.md has an example.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/rundir/safetensors.h"
#include "common/status.h"

namespace weft {

struct CheckpointState {
  std::int64_t iteration = 0;  // the last one that was finished; 0: none; of several workers' own the smallest
  // By worker, where they do not wait for each other's iterations; else empty.
  std::vector<std::int64_t> worker_iterations = {};
  std::int64_t epoch = 0;  // of the next iteration, from 0
  std::uint64_t seed = 0;
  std::int64_t membership_generation = 0;
  int workers = 0;
  int servers = 0;
  std::string job_sha256;  // of what the job says about training, so that a changed job is noticed
  std::string plan;        // the plan's JSON text

  friend bool operator==(const CheckpointState&, const CheckpointState&) = default;
};

// Writes both files into `folder`, which exists. A file of the same iteration is replaced.
// Errors as WriteSafetensors; older checkpoints are untouched then, and no temporary stays.
Status WriteCheckpoint(const std::string& folder, const CheckpointState& state, std::span<const TensorView> tensors);

// Removes all checkpoints before the `keep` newest up to `newest_iteration`, and what interrupted writers left. Later
// ones (a run that was resumed from before them has yet to replace them) stay. `keep` is at least 1.
// Others than NOT_FOUND: the errno's code.
Status PruneCheckpoints(const std::string& folder, std::int64_t newest_iteration, int keep);

struct Checkpoint {
  std::string path;  // the JSON's
  CheckpointState state;
  SafetensorsReader tensors;
};

// Opens and verifies one. INVALID_ARGUMENT names the file that is torn, changed or foreign; NOT_FOUND one that is
// missing.
Result<Checkpoint> OpenCheckpoint(const std::string& folder, std::int64_t iteration);

struct CheckpointSearch {
  std::optional<Checkpoint> newest;  // that verifies
  std::vector<Status> refused;       // newer ones, newest first, each with its file and what is wrong
};

// NOT_FOUND: no such folder. A folder without checkpoints is not an error.
Result<CheckpointSearch> FindNewestCheckpoint(const std::string& folder);

}  // namespace weft
