// Which Weft this is, and what it runs on: for --version and for what a run leaves behind.
#pragma once

#include <string>

namespace weft {

std::string Version();   // "0.1.0"
std::string Compiler();  // "GCC 12.2.0"
std::string Kernel();    // "Linux 6.1.0"; empty when the system does not tell

}  // namespace weft
