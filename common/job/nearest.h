// The known name that an unknown one was probably meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

// The one of `names` that is the fewest insertions, deletions, replacements and swaps of neighbours away from `name`,
// the first of equals; empty when none is nearer than a third of the name's length (at least 2). Case does not count.
std::string NearestName(std::string_view name, const std::vector<std::string>& names);

}  // namespace weft
