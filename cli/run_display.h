// Shows a run's events: on a terminal with one live line below what stands, else line by line.
#pragma once

#include <cstddef>
#include <string>

#include "common/clock.h"
#include "proto/coordinator.pb.h"

namespace weft {

// Used by one thread. Writes to stdout.
class RunDisplay {
 public:
  RunDisplay();

  void Show(const v1::RunEvent& event, TimePoint now);
  // A line that stays.
  void Print(const std::string& line);
  // Takes the live line away; to be called before anything else is printed.
  void ClearLive();

 private:
  void ShowLive(const std::string& line);
  std::size_t width() const;

  const bool terminal_;
  bool live_ = false;
  TimePoint next_line_{};  // without a terminal
};

}  // namespace weft
