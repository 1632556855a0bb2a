#include "cli/top_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "cli/progress.h"
#include "common/plan/json.h"
#include "common/plan/names.h"
#include "common/plan/table.h"

namespace weft {
namespace {

constexpr double kOldSeconds = 5;      // a rank, or the coordinator, that was silent for longer stands out
constexpr double kStallWarning = 0.2;  // as the alert rules have it
constexpr std::size_t kGap = 2;        // between columns, and between what stands in one line
constexpr const char* kNothing = "-";

template <typename... Values>
std::string Format(const char* format, Values... values) {
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

// Cut to `columns` (0: not) without cutting a character in two; what would move the cursor becomes '?'.
std::string Fit(const std::string& text, std::size_t columns) {
  std::string fit;
  std::size_t used = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool begins = (byte & 0xc0u) != 0x80u;
    if (begins && columns > 0 && ++used > columns) break;
    fit += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return fit;
}

std::string Padded(const std::string& text, std::size_t columns, bool left) {
  const std::string pad(columns - std::min(columns, ColumnsOf(text)), ' ');
  return left ? text + pad : pad + text;
}

// As many parts a line as fit, at least one.
void Flow(const std::vector<std::string>& parts, std::size_t columns, TopStyle style, std::vector<TopLine>* lines) {
  std::string line;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    if (!line.empty() && columns > 0 && ColumnsOf(line) + kGap + ColumnsOf(part) > columns) {
      lines->push_back({Fit(std::exchange(line, ""), columns), style});
    }
    line += (line.empty() ? "" : "  ") + part;
  }
  if (!line.empty()) lines->push_back({Fit(line, columns), style});
}

std::string Megabytes(double bytes_per_second) { return Format("%.1f", bytes_per_second * 1e-6); }

// What a worker sends one way over a free link, as the plan reckons it; 0: the plan has no transfers.
double PlannedRate(const Plan& plan) {
  double bytes = 0;
  double us = 0;
  for (const PlanGroup& group : plan.groups) {
    bytes += static_cast<double>(group.bytes);
    us += group.transfer_us;
  }
  return us > 0 ? bytes / us * 1e6 : 0;
}

std::string NameOfPlan(const Plan& plan) {
  std::string name = Name(plan.strategy);
  if (plan.strategy == StrategyType::kInterleavedPS) name += " T=" + std::to_string(plan.period);
  if (plan.strategy == StrategyType::kSwarm || plan.strategy == StrategyType::kLocalSGD) {
    name += " H=" + std::to_string(plan.period);
  }
  return name;
}

std::string Drift(const Plan& plan, const v1::Progress& progress) {
  if (plan.iteration_us <= 0 || progress.iteration_seconds() <= 0) return "";
  return Format("drift %+.1f %%", (progress.iteration_seconds() / (plan.iteration_us * 1e-6) - 1) * 100);
}

std::vector<TopLine> Head(const TopState& state, std::size_t columns) {
  std::vector<TopLine> lines;
  const std::string stage = state.ended.has_value() ? "ended" : state.lost ? "coordinator lost" : state.stage;
  Flow({"weft top", state.membership.job(), state.plan.has_value() ? NameOfPlan(*state.plan) : "", stage}, columns,
       TopStyle::kBold, &lines);
  if (state.lost) {
    lines.push_back({Fit("the coordinator is gone; these are its last figures", columns), TopStyle::kWarning});
  }
  if (state.progress.has_value()) {
    const v1::Progress& now = *state.progress;
    const auto whole = [](std::int64_t value) { return std::to_string(value); };
    const double share =
        now.iterations() > 0 ? static_cast<double>(now.iteration()) / static_cast<double>(now.iterations()) : 0;
    Flow({"epoch " + whole(now.epoch()) + "/" + whole(now.epochs()),
          "iteration " + whole(now.iteration()) + "/" + whole(now.iterations()), Format("%.0f %%", share * 100),
          state.ended.has_value() ? "" : ShowClock(now.seconds_left()) + " left"},
         columns, TopStyle::kPlain, &lines);
    Flow({ShowLoss(now.loss()), now.accuracy() >= 0 ? Format("accuracy %.2f %%", now.accuracy() * 100) : "",
          Format("%.0f images/s", now.samples_per_second()),
          now.has_model_variance() ? Format("\u0393 %.3g", now.model_variance()) : ""},
         columns, TopStyle::kPlain, &lines);
    Flow({"iteration " + ShowMicroseconds(now.iteration_seconds() * 1e6),
          "compute " + ShowMicroseconds(now.compute_seconds() * 1e6),
          state.plan.has_value() ? "plan " + ShowMicroseconds(state.plan->iteration_us) : "",
          state.plan.has_value() ? Drift(*state.plan, now) : "", Format("stall %.1f %%", now.stall_fraction() * 100),
          Megabytes(now.bytes_per_second()) + " MB/s"},
         columns, TopStyle::kPlain, &lines);
    if (state.progress_age_seconds > kOldSeconds && !state.ended.has_value() && !state.lost) {
      lines.push_back(
          {Fit(Format("no iteration has ended for %.0f s", state.progress_age_seconds), columns), TopStyle::kWarning});
    }
  }
  if (!state.note.empty()) lines.push_back({Fit(state.note, columns)});
  return lines;
}

const char* NameOf(v1::RankState state, bool server) {
  switch (state) {
    case v1::RANK_STATE_READY:
      return "ready";
    case v1::RANK_STATE_MEASURED:
      return "measured";
    case v1::RANK_STATE_TRAINING:
      return server ? "serving" : "training";
    case v1::RANK_STATE_EVALUATING:
      return "evaluating";
    case v1::RANK_STATE_PAUSED:
      return "paused";
    case v1::RANK_STATE_ENDED:
      return "ended";
    case v1::RANK_STATE_FAILED:
      return "failed";
    default:
      return "starting";
  }
}

struct Column {
  std::string title;
  int importance = 0;  // the lowest goes first
  bool left = false;
  std::vector<std::string> cells = {};

  std::size_t width() const {
    std::size_t widest = ColumnsOf(title);
    for (const std::string& cell : cells) widest = std::max(widest, ColumnsOf(cell));
    return widest;
  }
};

// A line a rank, the title first.
std::vector<TopLine> Table(const TopState& state, std::size_t columns) {
  enum { kRank, kHost, kState, kIteration, kTime, kRatio, kStall, kSent, kReceived, kUse, kStale, kSeen };
  std::vector<Column> table = {{"RANK", 12, true}, {"HOST", 2, true}, {"STATE", 8, true}, {"ITER", 11},
                               {"MS", 10},         {"xCOMP", 4},      {"STALL", 9},       {"OUT MB/s", 7},
                               {"IN MB/s", 6},     {"LINK", 5},       {"STALE", 1},       {"SEEN", 3}};
  std::vector<TopStyle> styles;
  const v1::Progress none;
  const v1::Progress& progress = state.progress.has_value() ? *state.progress : none;
  const double planned = state.plan.has_value() ? PlannedRate(*state.plan) : 0;
  for (int rank = 0; rank < state.membership.members_size(); ++rank) {
    const v1::Member& member = state.membership.members(rank);
    const bool server = member.role() == v1::ROLE_SERVER;
    const bool told = rank < progress.ranks_size();
    const v1::RankProgress now = told ? progress.ranks(rank) : v1::RankProgress();
    const bool trained = now.iteration() > 0 && now.iteration_seconds() > 0;
    const double link = now.link_bytes_per_second() > 0 ? now.link_bytes_per_second() : planned;
    const double rate = std::max(now.sent_bytes_per_second(), now.received_bytes_per_second());
    const double silent = now.silent_seconds() + state.progress_age_seconds;
    const auto add = [&](int column, bool known, const std::string& text) {
      table[static_cast<std::size_t>(column)].cells.push_back(known ? text : kNothing);
    };
    add(kRank, true, (server ? "server " : "worker ") + std::to_string(member.index()));
    add(kHost, true, Fit(member.host(), 24));
    add(kState, told, NameOf(now.state(), server));
    add(kIteration, trained, std::to_string(now.iteration()));
    add(kTime, trained, Format("%.1f", now.iteration_seconds() * 1e3));
    add(kRatio, trained && progress.compute_seconds() > 0,
        Format("%.2f", trained ? now.iteration_seconds() / progress.compute_seconds() : 0.0));
    add(kStall, trained, Format("%.1f %%", now.stall_fraction() * 100));
    add(kSent, told, Megabytes(now.sent_bytes_per_second()));
    add(kReceived, told, Megabytes(now.received_bytes_per_second()));
    add(kUse, told && link > 0, Format("%.0f %%", link > 0 ? rate / link * 100 : 0.0));
    add(kStale, trained, Format("%.1f", now.staleness_iterations()));
    add(kSeen, told, Format("%.0f s", silent));
    const bool over = now.state() == v1::RANK_STATE_ENDED || state.ended.has_value();
    const bool worth_a_look =
        now.state() == v1::RANK_STATE_FAILED || now.stall_fraction() > kStallWarning || (told && silent > kOldSeconds);
    styles.push_back(worth_a_look && !over ? TopStyle::kWarning : TopStyle::kPlain);
  }
  const auto width = [&table] {
    std::size_t sum = 0;
    for (const Column& column : table) sum += column.width() + kGap;
    return sum - kGap;
  };
  while (columns > 0 && table.size() > 1 && width() > columns) {
    table.erase(std::min_element(table.begin(), table.end(),
                                 [](const Column& a, const Column& b) { return a.importance < b.importance; }));
  }
  std::vector<TopLine> lines(styles.size() + 1);
  for (std::size_t c = 0; c < table.size(); ++c) {
    const Column& column = table[c];
    for (std::size_t i = 0; i < lines.size(); ++i) {
      lines[i].text +=
          (c == 0 ? "" : "  ") + Padded(i == 0 ? column.title : column.cells[i - 1], column.width(), column.left);
    }
  }
  lines[0].style = TopStyle::kTitle;
  for (std::size_t i = 1; i < lines.size(); ++i) lines[i].style = styles[i - 1];
  for (TopLine& line : lines) line.text = Fit(line.text, columns);
  return lines;
}

// Where the parts go: `head` lines, a title, `ranks` ranks, the keys.
struct Layout {
  std::size_t head = 0;
  std::size_t ranks = 0;
};

Layout LayoutFor(std::size_t head, std::size_t ranks, std::size_t rows) {
  if (rows == 0) return {head, ranks};
  // A rank, the title and the keys keep their lines as long as the job has one.
  const std::size_t kept = std::min(head, std::max<std::size_t>(rows, 4) - 3);
  const std::size_t left = rows > kept + 2 ? rows - kept - 2 : 0;
  return {kept, std::min(ranks, left)};
}

}  // namespace

void Take(const v1::RunEvent& event, TopState* state) {
  switch (event.event_case()) {
    case v1::RunEvent::kStage:
      state->stage = event.stage().text();
      return;
    case v1::RunEvent::kNote:
      state->note = event.note().text();
      return;
    case v1::RunEvent::kPlan:
      if (Result<Plan> plan = ParsePlan(event.plan().plan_json()); plan.ok()) state->plan = std::move(plan).value();
      return;
    case v1::RunEvent::kProgress:
      state->progress = event.progress();
      return;
    case v1::RunEvent::kEnded:
      state->ended = event.ended();
      return;
    case v1::RunEvent::kMembership:
      state->membership = event.membership();
      return;
    case v1::RunEvent::EVENT_NOT_SET:
      return;
  }
}

std::vector<TopLine> RenderTop(const TopState& state, TopSize size, std::size_t scroll) {
  std::vector<TopLine> lines = Head(state, size.columns);
  const std::vector<TopLine> table = Table(state, size.columns);
  const std::size_t ranks = table.size() - 1;
  const Layout layout = LayoutFor(lines.size(), ranks, size.rows);
  const std::size_t first = std::min(scroll, ranks - layout.ranks);
  lines.resize(layout.head);
  if (ranks > 0) lines.push_back(table[0]);
  const auto begin = table.begin() + 1 + static_cast<std::ptrdiff_t>(first);
  lines.insert(lines.end(), begin, begin + static_cast<std::ptrdiff_t>(layout.ranks));
  if (size.rows == 0) return lines;
  std::string keys = "q quits";
  if (layout.ranks < ranks) {
    keys = "ranks " + std::to_string(first + 1) + "-" + std::to_string(first + layout.ranks) + " of " +
           std::to_string(ranks) + ", arrows scroll, " + keys;
  }
  lines.resize(size.rows - 1);
  lines.push_back({Fit(keys, size.columns)});
  return lines;
}

TopScroll ScrollOf(const TopState& state, TopSize size) {
  const auto ranks = static_cast<std::size_t>(state.membership.members_size());
  const Layout layout = LayoutFor(Head(state, size.columns).size(), ranks, size.rows);
  return {.largest = ranks - layout.ranks, .page = layout.ranks};
}

}  // namespace weft
