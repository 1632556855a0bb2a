#include "common/rundir/trace_writer.h"

#include <nlohmann/json.hpp>

namespace weft {
namespace {

using nlohmann::ordered_json;

// Each piece ends in this, and JSON text has no other line end.
constexpr char kSeparator[] = ",\n";

std::string Text(const ordered_json& event) {
  return event.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace

// A closed trace ends in an event without a separator and "]", which opening it again cuts off.
Result<TraceWriter> TraceWriter::Open(const std::string& path, std::int64_t maximum_bytes) {
  WEFT_ASSIGN_OR_RETURN(auto file, AppendFile::Open(path, kSeparator));
  TraceWriter writer(std::move(file), maximum_bytes);
  if (writer.file_->size() == 0) WEFT_RETURN_IF_ERROR(writer.file_->Append("["));
  return writer;
}

Status TraceWriter::NameProcess(int pid, const std::string& name) {
  return WriteText(Text({{"name", "process_name"}, {"ph", "M"}, {"pid", pid}, {"args", {{"name", name}}}}));
}

Status TraceWriter::NameThread(int pid, int tid, const std::string& name) {
  return WriteText(
      Text({{"name", "thread_name"}, {"ph", "M"}, {"pid", pid}, {"tid", tid}, {"args", {{"name", name}}}}));
}

Status TraceWriter::Write(const TraceEvent& event) {
  ordered_json json = {{"name", event.name}, {"ph", "X"},         {"pid", event.pid},
                       {"tid", event.tid},   {"ts", event.ts_us}, {"dur", event.dur_us}};
  for (const auto& [key, value] : event.args) {
    std::visit([&json, &name = key](const auto& v) { json["args"][name] = v; }, value);
  }
  return WriteText(Text(json));
}

Status TraceWriter::WriteText(const std::string& text) {
  if (file_->size() + static_cast<std::int64_t>(text.size()) > maximum_bytes_) {
    ++dropped_;
    return OkStatus();
  }
  return file_->Append(text + kSeparator);
}

Status TraceWriter::Close() {
  ordered_json last = {{"name", "process_sort_index"}, {"ph", "M"}, {"pid", 0}, {"args", {{"sort_index", 0}}}};
  if (dropped_ > 0) {
    last["name"] = "process_labels";
    last["args"] = {{"labels", std::to_string(dropped_) + " events left out"}};
  }
  WEFT_RETURN_IF_ERROR(file_->Append(Text(last) + "]\n"));
  return file_->Flush();
}

}  // namespace weft
