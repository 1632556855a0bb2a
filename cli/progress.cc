#include "cli/progress.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "common/plan/table.h"

namespace weft {
namespace {

template <typename... Values>
std::string Format(const char* format, Values... values) {
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

std::string ShowSeconds(double seconds) { return ShowMicroseconds(seconds * 1e6); }

}  // namespace

// A character has one byte that does not begin with the bits 10.
std::size_t ColumnsOf(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }));
}

std::string ShowLoss(double loss) { return Format(std::abs(loss) < 1e6 ? "loss %.4f" : "loss %.3g", loss); }

std::string ShowClock(double seconds) {
  const auto whole = static_cast<long long>(std::llround(std::max(seconds, 0.0)));
  if (whole < 3600) return Format("%lld:%02lld", whole / 60, whole % 60);
  return Format("%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string ProgressLine(const v1::Progress& progress, std::size_t width) {
  struct Part {
    int importance;  // the lowest goes first
    std::string text;
  };
  std::vector<Part> parts;
  const auto whole = [](std::int64_t value) { return std::to_string(value); };
  parts.push_back({6, "epoch " + whole(progress.epoch()) + "/" + whole(progress.epochs())});
  parts.push_back({9, "iteration " + whole(progress.iteration()) + "/" + whole(progress.iterations())});
  parts.push_back({8, ShowLoss(progress.loss())});
  if (progress.accuracy() >= 0) parts.push_back({7, Format("accuracy %.2f %%", progress.accuracy() * 100)});
  parts.push_back({4, "iteration " + ShowSeconds(progress.iteration_seconds()) + " (compute " +
                          ShowSeconds(progress.compute_seconds()) + ")"});
  parts.push_back({3, Format("stall %.1f %%", progress.stall_fraction() * 100)});
  parts.push_back({2, Format("%.1f MB/s", progress.bytes_per_second() * 1e-6)});
  if (progress.model_variance() != 0) parts.push_back({1, Format("\u0393 %.3g", progress.model_variance())});
  parts.push_back({5, ShowClock(progress.seconds_left()) + " left"});

  const auto join = [&] {
    std::string line;
    for (const Part& part : parts) line += (line.empty() ? "" : "  ") + part.text;
    return line;
  };
  std::string line = join();
  while (width > 0 && ColumnsOf(line) > width && parts.size() > 1) {
    auto least = parts.begin();
    for (auto part = parts.begin(); part != parts.end(); ++part) {
      if (part->importance < least->importance) least = part;
    }
    parts.erase(least);
    line = join();
  }
  if (width > 0 && ColumnsOf(line) > width) line.resize(width);  // one part is left, in ASCII
  return line;
}

std::string SummaryText(const std::string& summary_json) {
  const nlohmann::json summary = nlohmann::json::parse(summary_json, nullptr, /*allow_exceptions=*/false);
  if (!summary.is_object()) return "";
  // Null where there is nothing at this path: a run that failed has less to tell.
  const auto at = [&summary](const char* path) {
    return summary.value(nlohmann::json::json_pointer(path), nlohmann::json());
  };
  const auto number = [&at](const char* path) {
    const nlohmann::json value = at(path);
    return value.is_number() ? value.get<double>() : 0.0;
  };
  const double iteration = number("/iteration_seconds/median");
  const double compute = number("/compute_seconds/median");
  const long long epochs = summary.value("epochs", 0LL);
  std::string text = Format("%lld %s, %lld iterations in %s", epochs, epochs == 1 ? "epoch" : "epochs",
                            summary.value("iterations", 0LL), ShowClock(number("/seconds")).c_str());
  text += Format(": %.0f samples/s, ", number("/images_per_second"));
  // JSON has no NaN: it is null there.
  text += at("/loss").is_null() ? "a loss that is not a number" : ShowLoss(number("/loss"));
  if (at("/accuracy").is_number()) text += Format(", accuracy %.2f %%", number("/accuracy") * 100);
  text += "\n";
  if (at("/worst_accuracy").is_number()) {
    text += Format("the mean of the workers' models; the worst single one has an accuracy of %.2f %%",
                   number("/worst_accuracy") * 100) +
            Format(", \u0393 is %.3g\n", number("/model_variance"));
  }
  text += "an iteration takes " + ShowSeconds(iteration) + " (95th percentile " +
          ShowSeconds(number("/iteration_seconds/p95")) + ")";
  if (compute > 0) text += Format(", %.2f times the compute alone of ", iteration / compute) + ShowSeconds(compute);
  text += Format("; stalled for %.1f %% of the time; ", number("/stall_fraction") * 100) +
          ShowBytes(number("/bytes_per_iteration")) + " an iteration\n";
  return text;
}

bool TellsSuccess(const std::string& summary_json) {
  const nlohmann::json summary = nlohmann::json::parse(summary_json, nullptr, /*allow_exceptions=*/false);
  return summary.is_object() && summary.contains("exit_code") && summary["exit_code"] == 0;
}

}  // namespace weft
