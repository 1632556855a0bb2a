#include "common/job/shown.h"

namespace weft {

std::string Shown(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string shown;
  for (const char c : text.substr(0, kLongest)) {
    shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return text.size() > kLongest ? shown + "…" : shown;
}

}  // namespace weft
