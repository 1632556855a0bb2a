// What `weft run` shows: pure text from values, for a terminal of a given width or for a log.
#pragma once

#include <cstddef>
#include <string>

#include "proto/coordinator.pb.h"

namespace weft {

// "epoch 2/10  iteration 471/2340  loss 0.512  accuracy 84.1 %  iteration 12.1 ms (compute 11.9)  stall 1.2 %  35 MB/s
// 1:23 left". What does not fit `width` columns is left out from the least important on; `width` 0 has no limit.
std::string ProgressLine(const v1::Progress& progress, std::size_t width);

// The columns that UTF-8 text takes on a terminal, of characters that take one each.
std::size_t ColumnsOf(const std::string& text);

// "loss 0.5123"; one that diverges is told by its size, not by forty digits: "loss 1.9e+35".
std::string ShowLoss(double loss);

// "1:23", "1:02:03".
std::string ShowClock(double seconds);

// The end of a run from its summary.json: some lines, the iteration held against compute alone.
std::string SummaryText(const std::string& summary_json);

// Whether that summary.json is of a run that has come to its end.
bool TellsSuccess(const std::string& summary_json);

}  // namespace weft
