// Which of Open MPI's components carry the messages.
#pragma once

#include <string>

namespace weft {

// "ob1/vader,tcp,self": the point-to-point layer and its byte transfer layers, as they were asked for; "auto" stands
// for one that Open MPI chose itself. Requires that MPI is initialized, and its only calling thread.
std::string MpiComponents();

}  // namespace weft
