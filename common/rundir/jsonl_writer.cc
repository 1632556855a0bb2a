#include "common/rundir/jsonl_writer.h"

#include "common/check.h"

namespace weft {

Result<JsonlWriter> JsonlWriter::Open(const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(auto file, AppendFile::Open(path, "\n"));
  return JsonlWriter(std::move(file));
}

Status JsonlWriter::Write(std::string_view value) {
  WEFT_CHECK(value.find('\n') == std::string_view::npos) << "a line end in a line of " << value.size() << " bytes";
  std::string line(value);
  line += '\n';
  return file_->Append(line);
}

}  // namespace weft
