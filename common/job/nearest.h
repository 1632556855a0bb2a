// Names that are not spelled as they should be: the same but for case and hyphens, and what one was probably meant to
// be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

// In lower case, without `-` and `_`: "InterleavedPS", "interleaved-ps" and "INTERLEAVED_PS" alike.
std::string Folded(std::string_view text);

// The one of `names` that is `name` when both are folded; empty when none is.
std::string LooseName(std::string_view name, const std::vector<std::string>& names);

// The one of `names` that is the fewest insertions, deletions, replacements and swaps of neighbours away from `name`,
// the first of equals; empty when none is nearer than a third of the name's length (at least 2). Case does not count.
std::string NearestName(std::string_view name, const std::vector<std::string>& names);

}  // namespace weft
