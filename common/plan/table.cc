#include "common/plan/table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace weft {
namespace {

std::string Fixed(double value, int digits, const char* unit) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f %s", digits, value, unit);
  return text;
}

// Three significant digits.
int Digits(double value) { return value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2; }

std::string LayersOf(const PlanGroup& group) {
  if (group.layers.empty()) return "";
  if (group.layers.size() == 1) return group.layers.front();
  return group.layers.front() + " .. " + group.layers.back() + " (" + std::to_string(group.layers.size()) + ")";
}

// The number of bytes of a UTF-8 text that begin a character.
std::size_t Width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::string ShowMicroseconds(double us) {
  const double size = std::abs(us);
  if (us == 0) return "0";
  if (size < 999.5) return Fixed(us, Digits(size), "us");
  if (size < 999.5e3) return Fixed(us / 1e3, Digits(size / 1e3), "ms");
  return Fixed(us / 1e6, Digits(size / 1e6), "s");
}

std::string ShowBytes(double bytes) {
  if (bytes < 999.5) return Fixed(bytes, 0, "B");
  if (bytes < 999.5e3) return Fixed(bytes / 1e3, Digits(bytes / 1e3), "kB");
  if (bytes < 999.5e6) return Fixed(bytes / 1e6, Digits(bytes / 1e6), "MB");
  return Fixed(bytes / 1e9, Digits(bytes / 1e9), "GB");
}

std::string ShowPercent(double share) {
  const double percent = share * 100;
  const double tenths = std::round(percent * 10);
  const bool whole = percent >= 9.95 || std::fmod(tenths, 10) == 0;
  return Fixed(percent, whole ? 0 : 1, "%");
}

std::string AlignedColumns(const std::vector<std::vector<std::string>>& rows) {
  if (rows.empty()) return "";
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string padding(widths[i] - Width(row[i]), ' ');
      if (i > 0) line += "  ";
      line += i == 0 ? row[i] + padding : padding + row[i];
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

std::string PlanTable(const Plan& plan, std::size_t max_rows) {
  std::vector<std::vector<std::string>> rows = {
      {"group", "phase", "layers", "bytes", "from", "to", "slot", "transfer", "stall"}};
  for (const PlanGroup& group : plan.groups) {
    if (rows.size() > max_rows) break;
    rows.push_back({std::to_string(group.index), std::to_string(group.phase), LayersOf(group),
                    ShowBytes(static_cast<double>(group.bytes)), ShowMicroseconds(group.window_from_us),
                    ShowMicroseconds(group.window_to_us), ShowMicroseconds(group.slot_us),
                    ShowMicroseconds(group.transfer_us), ShowMicroseconds(group.stall_us)});
  }
  std::string out = AlignedColumns(rows);
  if (plan.groups.size() > max_rows) out += "and " + std::to_string(plan.groups.size() - max_rows) + " more groups\n";
  out += "iteration " + ShowMicroseconds(plan.iteration_us) + ", compute alone " + ShowMicroseconds(plan.compute_us) +
         "\n" + plan.reason + "\n";
  return out;
}

}  // namespace weft
