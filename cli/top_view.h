// What `weft top` shows: pure, from what the coordinator has told and the size of the screen to lines of text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/plan/plan.h"
#include "proto/coordinator.pb.h"

namespace weft {

struct TopState {
  std::string stage;
  std::string note;  // the last one
  v1::Membership membership;
  std::optional<Plan> plan;
  std::optional<v1::Progress> progress;
  std::optional<v1::Ended> ended;
  double progress_age_seconds = 0;  // since the progress came
  bool lost = false;                // the coordinator, which has not said that the run ended
};

// Takes an event in. A plan that does not parse leaves the one before. `progress_age_seconds` is the caller's.
void Take(const v1::RunEvent& event, TopState* state);

struct TopSize {
  std::size_t rows = 0;     // 0: no limit, and no line that tells the keys
  std::size_t columns = 0;  // 0: no limit
};

enum class TopStyle { kPlain, kBold, kTitle, kWarning };
struct TopLine {
  std::string text;  // UTF-8, no wider than the screen
  TopStyle style = TopStyle::kPlain;
};

// The job, and below it a row a rank from rank `scroll` on (the last ranks, where that is too far). What does not fit
// the width goes on in another line above the ranks; of the ranks' table the columns that matter least are left out.
std::vector<TopLine> RenderTop(const TopState& state, TopSize size, std::size_t scroll);

// The largest `scroll` that changes what is shown, and how many ranks are shown at once.
struct TopScroll {
  std::size_t largest = 0;
  std::size_t page = 0;
};
TopScroll ScrollOf(const TopState& state, TopSize size);

}  // namespace weft
