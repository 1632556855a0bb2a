#include "common/rundir/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "common/check.h"
#include "common/rundir/atomic_file.h"
#include "common/rundir/digest.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr char kFormat[] = "weft-checkpoint-1";
constexpr std::size_t kMaximumStateBytes = 64 << 20;  // a plan of 10,000 layers takes 2 MiB

std::string BaseName(std::int64_t iteration) { return "step-" + std::to_string(iteration); }
std::string StatePath(const std::string& folder, std::int64_t iteration) {
  return folder + "/" + BaseName(iteration) + ".json";
}
std::string TensorsPath(const std::string& folder, std::int64_t iteration) {
  return folder + "/" + BaseName(iteration) + ".safetensors";
}

std::string HashOf(const ordered_json& document) {
  return Sha256Of(
      std::as_bytes(std::span<const char>(document.dump(-1, ' ', true, ordered_json::error_handler_t::replace))));
}

ordered_json ToJson(const CheckpointState& state, const FileDigest& tensors) {
  ordered_json document = {{"format", kFormat}, {"iteration", state.iteration}};
  if (!state.worker_iterations.empty()) document["worker_iterations"] = state.worker_iterations;
  document.update(ordered_json{
      {"epoch", state.epoch},
      {"seed", state.seed},
      {"membership",
       {{"generation", state.membership_generation}, {"workers", state.workers}, {"servers", state.servers}}},
      {"job_sha256", state.job_sha256},
      {"plan", state.plan},
      {"tensors",
       {{"file", BaseName(state.iteration) + ".safetensors"}, {"bytes", tensors.bytes}, {"sha256", tensors.sha256}}}});
  return document;
}

// `text` is a state whose own hash is right.
Status FromJson(const std::string& text, CheckpointState& state, FileDigest& tensors) {
  ordered_json document = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return InvalidArgumentError("is torn, or no checkpoint: it is no JSON object");
  if (document.value("format", ordered_json()) != kFormat) {
    return InvalidArgumentError(std::string("is no checkpoint: its format is not ") + kFormat);
  }
  const ordered_json hash = document.value("sha256", ordered_json());
  document.erase("sha256");
  if (hash != HashOf(document)) return InvalidArgumentError("was changed: its SHA-256 is another");
  try {
    state.iteration = document.at("iteration").get<std::int64_t>();
    state.worker_iterations = document.value("worker_iterations", std::vector<std::int64_t>());
    state.epoch = document.at("epoch").get<std::int64_t>();
    state.seed = document.at("seed").get<std::uint64_t>();
    const ordered_json& membership = document.at("membership");
    state.membership_generation = membership.at("generation").get<std::int64_t>();
    state.workers = membership.at("workers").get<int>();
    state.servers = membership.at("servers").get<int>();
    state.job_sha256 = document.at("job_sha256").get<std::string>();
    state.plan = document.at("plan").get<std::string>();
    tensors.bytes = document.at("tensors").at("bytes").get<std::int64_t>();
    tensors.sha256 = document.at("tensors").at("sha256").get<std::string>();
    if (!state.worker_iterations.empty() && static_cast<int>(state.worker_iterations.size()) != state.workers) {
      return InvalidArgumentError("is no checkpoint: worker_iterations has " +
                                  std::to_string(state.worker_iterations.size()) + " entries, not one a worker");
    }
  } catch (const ordered_json::exception& error) {
    return InvalidArgumentError(std::string("is no checkpoint: ") + error.what());
  }
  return OkStatus();
}

// The number in "step-<number><extension>".
std::optional<std::int64_t> IterationOf(const std::string& name, const std::string& extension) {
  constexpr std::string_view kPrefix = "step-";
  if (!name.starts_with(kPrefix) || !name.ends_with(extension)) return std::nullopt;
  const char* first = name.data() + kPrefix.size();
  const char* last = name.data() + name.size() - extension.size();
  std::int64_t iteration = 0;
  const auto [end, error] = std::from_chars(first, last, iteration);
  if (first >= last || error != std::errc() || end != last || iteration < 0) return std::nullopt;
  return iteration;
}

struct Listing {
  std::set<std::int64_t, std::greater<>> states;   // iterations with a JSON file, newest first
  std::set<std::int64_t, std::greater<>> tensors;  // with a safetensors file
  std::vector<std::string> temporaries;            // full paths
};

Result<Listing> List(const std::string& folder) {
  Listing listing;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (const auto iteration = IterationOf(name, ".json")) {
      listing.states.insert(*iteration);
    } else if (const auto of_tensors = IterationOf(name, ".safetensors")) {
      listing.tensors.insert(*of_tensors);
    } else if (name.starts_with("step-") && name.find(".tmp-") != std::string::npos) {
      listing.temporaries.push_back(entry->path().string());
    }
  }
  if (error) return ErrnoError(folder, error.value());
  return listing;
}

Status Remove(const std::string& path) {
  std::error_code error;
  fs::remove(path, error);  // a file that is gone already is no error
  return error ? ErrnoError("remove " + path, error.value()) : OkStatus();
}

}  // namespace

Status WriteCheckpoint(const std::string& folder, const CheckpointState& state, std::span<const TensorView> tensors) {
  WEFT_ASSIGN_OR_RETURN(const FileDigest digest, WriteSafetensors(TensorsPath(folder, state.iteration), tensors,
                                                                  {{"iteration", std::to_string(state.iteration)}}));
  ordered_json document = ToJson(state, digest);
  document["sha256"] = HashOf(document);
  // No line end: then a cut at any byte takes the last brace.
  return WriteFileAtomically(StatePath(folder, state.iteration),
                             document.dump(2, ' ', true, ordered_json::error_handler_t::replace));
}

Status PruneCheckpoints(const std::string& folder, std::int64_t newest_iteration, int keep) {
  WEFT_CHECK(keep >= 1) << "keep " << keep;
  WEFT_ASSIGN_OR_RETURN(const Listing listing, List(folder));
  std::set<std::int64_t> kept;
  for (const std::int64_t iteration : listing.states) {
    if (iteration > newest_iteration || keep-- > 0) kept.insert(iteration);
  }
  // The state goes first: without it the tensors are no checkpoint.
  for (const std::int64_t iteration : listing.states) {
    if (!kept.contains(iteration)) WEFT_RETURN_IF_ERROR(Remove(StatePath(folder, iteration)));
  }
  for (const std::int64_t iteration : listing.tensors) {
    if (!kept.contains(iteration)) WEFT_RETURN_IF_ERROR(Remove(TensorsPath(folder, iteration)));
  }
  for (const std::string& path : listing.temporaries) WEFT_RETURN_IF_ERROR(Remove(path));
  return OkStatus();
}

Result<Checkpoint> OpenCheckpoint(const std::string& folder, std::int64_t iteration) {
  const std::string path = StatePath(folder, iteration);
  WEFT_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMaximumStateBytes));
  CheckpointState state;
  FileDigest wanted;
  WEFT_RETURN_IF_ERROR(FromJson(text, state, wanted).WithContext(path));
  if (state.iteration != iteration) {
    return InvalidArgumentError(path + ": is of iteration " + std::to_string(state.iteration));
  }
  const std::string tensors_path = TensorsPath(folder, iteration);
  WEFT_ASSIGN_OR_RETURN(SafetensorsReader tensors, SafetensorsReader::Open(tensors_path));
  WEFT_ASSIGN_OR_RETURN(const FileDigest found, tensors.Digest());
  if (found.bytes != wanted.bytes || found.sha256 != wanted.sha256) {
    return InvalidArgumentError(tensors_path + ": is not the file that " + path +
                                " was written for: its SHA-256 is another");
  }
  return Checkpoint{.path = path, .state = std::move(state), .tensors = std::move(tensors)};
}

Result<CheckpointSearch> FindNewestCheckpoint(const std::string& folder) {
  WEFT_ASSIGN_OR_RETURN(const Listing listing, List(folder));
  std::set<std::int64_t, std::greater<>> all = listing.states;
  all.insert(listing.tensors.begin(), listing.tensors.end());
  CheckpointSearch search;
  for (const std::int64_t iteration : all) {
    if (!listing.states.contains(iteration)) {
      search.refused.push_back(InvalidArgumentError(TensorsPath(folder, iteration) + ": has no " + BaseName(iteration) +
                                                    ".json: it was not finished"));
      continue;
    }
    Result<Checkpoint> checkpoint = OpenCheckpoint(folder, iteration);
    if (checkpoint.ok()) {
      search.newest.emplace(std::move(checkpoint).value());
      break;
    }
    search.refused.push_back(checkpoint.status());
  }
  return search;
}

}  // namespace weft
