// The moment at which ranks agree on what they make together.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "agent/transport/transport.h"

namespace weft {

// Gives `mine` to each of the `ranks` first ranks and takes theirs, by rank. All of them call it, with as many bytes,
// and in the same order for one tag. DEADLINE_EXCEEDED names a rank that did not come to `what`; nothing is aborted.
// Errors as for messages.
Result<std::vector<std::vector<std::byte>>> ExchangeWithAll(Transport& transport, int ranks, Tag tag,
                                                            std::span<const std::byte> mine, TimePoint deadline,
                                                            const std::string& what);

}  // namespace weft
