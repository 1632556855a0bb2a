#include "common/version.h"

#include <sys/utsname.h>

namespace weft {

std::string Version() { return WEFT_VERSION; }

std::string Compiler() {
#ifdef __clang__
  return __VERSION__;  // begins with its name
#else
  return "GCC " __VERSION__;
#endif
}

std::string Kernel() {
  utsname names{};
  return uname(&names) == 0 ? std::string(names.sysname) + " " + names.release : "";
}

}  // namespace weft
