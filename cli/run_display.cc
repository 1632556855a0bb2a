#include "cli/run_display.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "cli/progress.h"
#include "common/plan/json.h"
#include "common/plan/table.h"

namespace weft {
namespace {

constexpr Duration kLineInterval = std::chrono::seconds(5);
constexpr std::size_t kPlanRows = 12;

}  // namespace

RunDisplay::RunDisplay() : terminal_(isatty(STDOUT_FILENO) == 1) {}

std::size_t RunDisplay::width() const {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 79;
  return size.ws_col - 1u;  // a full line would wrap on some terminals
}

void RunDisplay::ClearLive() {
  if (live_) std::fputs("\r\033[K", stdout);
  live_ = false;
  std::fflush(stdout);
}

void RunDisplay::ShowLive(const std::string& line) {
  std::fputs(("\r\033[K" + line.substr(0, width())).c_str(), stdout);
  live_ = true;
  std::fflush(stdout);
}

void RunDisplay::Print(const std::string& line) {
  ClearLive();
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

void RunDisplay::Show(const v1::RunEvent& event, TimePoint now) {
  switch (event.event_case()) {
    case v1::RunEvent::kStage:
      // On a terminal a stage stays until the next one takes its place.
      if (terminal_) {
        ShowLive(event.stage().text() + " ...");
      } else {
        Print(event.stage().text());
      }
      return;
    case v1::RunEvent::kNote:
      return Print(event.note().text());
    case v1::RunEvent::kPlan: {
      const Result<Plan> plan = ParsePlan(event.plan().plan_json());
      if (!plan.ok()) return;
      if (plan->from_iteration > 1) {
        return Print("iteration " + std::to_string(plan->from_iteration) + ", a new plan" +
                     (plan->cause.empty() ? "" : ": " + plan->cause));
      }
      ClearLive();
      std::fputs(PlanTable(*plan, kPlanRows).c_str(), stdout);
      std::fflush(stdout);
      return;
    }
    case v1::RunEvent::kProgress:
      if (terminal_) return ShowLive(ProgressLine(event.progress(), width()));
      if (now < next_line_) return;
      next_line_ = now + kLineInterval;
      return Print(ProgressLine(event.progress(), 0));
    case v1::RunEvent::kEnded:
    case v1::RunEvent::kMembership:
    case v1::RunEvent::EVENT_NOT_SET:
      return;
  }
}

}  // namespace weft
