#pragma once

#include <string>

namespace weft {

// The whole answer, header and body, of 127.0.0.1:`port` to GET `path`; empty when there is none within 10 s.
std::string HttpGet(int port, const std::string& path);

}  // namespace weft
