// Small real files for the data tests.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "tests/common/temporary_folder.h"

namespace weft {

// One gzip member.
std::string Gzip(std::string_view bytes);

// IDX with `dimensions` in its header and `elements` behind it.
std::string Idx(std::initializer_list<std::uint32_t> dimensions, std::string_view elements);

}  // namespace weft
