// Text from outside, as it may stand in a message.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// The first 60 bytes, an ellipsis when there are more, with `?` for what would break a line or move a terminal's
// cursor.
std::string Shown(std::string_view text);

}  // namespace weft
