#include "common/report/report.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "common/report/metrics_reader.h"
#include "common/report/page.h"
#include "common/rundir/atomic_file.h"
#include "common/rundir/run_directory.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxJobBytes = 4u << 20;
constexpr std::size_t kMaxPlanBytes = 256u << 20;
constexpr std::size_t kMaxSummaryBytes = 16u << 20;
constexpr std::size_t kMaxShownGroups = 1000;

std::string NameOfFile(const std::string& path) { return fs::path(path).filename().string(); }

// Null, with a note, when it is missing or no JSON object.
Json ReadObject(const std::string& path, std::size_t limit, Json& notes) {
  const Result<std::string> text = ReadSmallFile(path, limit);
  if (!text.ok()) {
    notes.push_back(text.status().code() == StatusCode::kNotFound ? NameOfFile(path) + " is missing"
                                                                  : text.status().message());
    return nullptr;
  }
  Json parsed = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_object()) return parsed;
  notes.push_back(NameOfFile(path) + " is not a JSON object");
  return nullptr;
}

// Leaves out what a page does not show and what grows with the number of layers.
void ShortenPlan(Json& plan) {
  plan.erase("shards");
  const auto groups = plan.find("groups");
  if (groups == plan.end() || !groups->is_array()) return;
  if (groups->size() > kMaxShownGroups) groups->erase(groups->begin() + kMaxShownGroups, groups->end());
  for (Json& group : *groups) {
    if (!group.is_object()) continue;
    const auto layers = group.find("layers");
    if (layers == group.end() || !layers->is_array() || layers->empty()) continue;
    const Json shown = {{"count", layers->size()}, {"first", layers->front()}, {"last", layers->back()}};
    *layers = shown;
  }
}

bool UsesServers(const Json& plan) {
  const auto strategy = plan.find("strategy");
  return strategy != plan.end() && strategy->is_string() && strategy->get<std::string>().ends_with("PS");
}

int PeriodOf(const Json& plan) {
  const auto period = plan.find("period");
  if (!UsesServers(plan) || period == plan.end() || !period->is_number_unsigned()) return 0;
  return static_cast<int>(std::min<std::uint64_t>(period->get<std::uint64_t>(), 1'000'000));
}

// In a <script> element only "</script" and "<!--" matter, and JSON lets any character be written by its number.
std::string ForScript(const Json& json) {
  const std::string text = json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

Result<Json> ReadRun(const std::string& directory) {
  WEFT_ASSIGN_OR_RETURN(const RunDirectory run, RunDirectory::OpenToRead(directory));
  Json notes = Json::array();
  const Result<std::string> job = ReadSmallFile(run.job(), kMaxJobBytes);
  if (!job.ok()) notes.push_back(job.status().message());
  Json summary = ReadObject(run.summary(), kMaxSummaryBytes, notes);
  Json plan = ReadObject(run.plan(), kMaxPlanBytes, notes);
  if (plan.is_object()) ShortenPlan(plan);
  Result<Json> metrics = ReadMetrics(run.metrics(), plan.is_object() ? PeriodOf(plan) : 0);
  if (!metrics.ok()) {
    const bool missing = metrics.status().code() == StatusCode::kNotFound;
    notes.push_back(missing ? NameOfFile(run.metrics()) + " is missing" : metrics.status().message());
  } else if (const auto left_out = (*metrics)["left_out"].get<std::int64_t>(); left_out > 0) {
    notes.push_back(std::to_string(left_out) + (left_out == 1 ? " line" : " lines") +
                    " of metrics.jsonl can't be read and are left out");
  }
  std::error_code error;
  const fs::path full = fs::weakly_canonical(directory, error);
  const fs::path path = error ? fs::path(directory) : full;
  return Json{{"name", path.filename().string()},
              {"directory", path.string()},
              {"notes", std::move(notes)},
              {"job", job.ok() ? Json(*job) : Json()},
              {"summary", std::move(summary)},
              {"plan", std::move(plan)},
              {"metrics", metrics.ok() ? *std::move(metrics) : Json()}};
}

std::string RenderReport(const Json& runs) {
  const std::string_view page = ReportPage();
  const std::size_t place = page.find(kReportDataMark);
  std::string html(page.substr(0, place));
  html += ForScript({{"runs", runs}});
  html += page.substr(place + kReportDataMark.size());
  return html;
}

Status WriteReport(std::span<const std::string> directories, const std::string& path) {
  Json runs = Json::array();
  for (const std::string& directory : directories) {
    WEFT_ASSIGN_OR_RETURN(Json run, ReadRun(directory));
    runs.push_back(std::move(run));
  }
  return WriteFileAtomically(path, RenderReport(runs));
}

}  // namespace weft
