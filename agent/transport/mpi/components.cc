#include "agent/transport/mpi/components.h"

#include <mpi.h>

#include <algorithm>

namespace weft {
namespace {

// The value of a control variable (an MCA parameter) that is a string; empty when it has none.
std::string ControlVariable(const char* name) {
  int index = 0;
  if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS) return "";
  MPI_T_cvar_handle handle = nullptr;
  int count = 0;
  if (MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) return "";
  std::string value(static_cast<std::size_t>(count) + 1, '\0');
  const bool read = MPI_T_cvar_read(handle, value.data()) == MPI_SUCCESS;
  MPI_T_cvar_handle_free(&handle);
  return read ? std::string(value.c_str()) : "";
}

}  // namespace

std::string MpiComponents() {
  int provided = 0;
  if (MPI_T_init_thread(MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS) return "auto";
  std::string pml = ControlVariable("pml");
  const std::string btl = ControlVariable("btl");
  MPI_T_finalize();
  if (pml.empty()) pml = "auto";
  if (pml == "ucx" || pml == "cm") return pml;  // they use no byte transfer layer
  return pml + "/" + (btl.empty() ? "auto" : btl);
}

std::string MpiVersion() {
  std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
  int length = 0;
  if (MPI_Get_library_version(text.data(), &length) != MPI_SUCCESS) return "";
  text.resize(static_cast<std::size_t>(length));
  // "Open MPI v4.1.4, package: Debian Open MPI, ident: …"
  text.resize(std::min(text.find(','), text.size()));
  if (const std::size_t v = text.rfind(" v"); v != std::string::npos) text.erase(v + 1, 1);
  return text;
}

}  // namespace weft
