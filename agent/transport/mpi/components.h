// Which Open MPI this is, and which of its components carry the messages.
#pragma once

#include <string>

namespace weft {

// "ob1/vader,tcp,self": the point-to-point layer and its byte transfer layers, as they were asked for; "auto" stands
// for one that Open MPI chose itself. Requires that MPI is initialized, and its only calling thread.
std::string MpiComponents();

// "Open MPI 4.1.4": the library that runs, not the one that was compiled against.
std::string MpiVersion();

}  // namespace weft
