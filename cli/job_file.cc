#include "cli/job_file.h"

#include <CLI/App.hpp>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "common/job/yaml_tree.h"

namespace weft {
namespace {

// At most one byte more than a job may have: enough for the parser to refuse the rest.
Result<std::string> ReadJobText(const std::string& path) {
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  const bool from_stdin = path == "-";
  const File file(from_stdin ? stdin : std::fopen(path.c_str(), "rb"),
                  from_stdin ? [](std::FILE*) { return 0; } : std::fclose);
  if (file == nullptr) return ErrnoError("open", errno);
  std::string text(kMaxYamlBytes + 1, '\0');
  errno = 0;
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return ErrnoError("read", errno);
  return text;
}

}  // namespace

void AddJobFileOptions(CLI::App& command, JobFileOptions* options) {
  command.add_option("FILE", options->path, "The TrainingJob, YAML; - for standard input")->required();
  command.add_option("--set", options->overrides, "Overrides a field; may be given again")
      ->option_text("PATH=VALUE")
      ->allow_extra_args(false);
}

std::optional<ParsedJob> LoadJobFile(const JobFileOptions& options) {
  const Result<std::string> text = ReadJobText(options.path);
  if (!text.ok()) {
    ReportError(options.path + ": " + text.status().message());
    return std::nullopt;
  }
  ParsedJob job = ParseJob(*text, options.overrides);
  for (const std::string& note : job.notes) std::fprintf(stderr, "%s: %s\n", options.path.c_str(), note.c_str());
  if (job.ok()) return job;
  for (const JobError& error : job.errors) {
    const std::string line = error.line > 0 ? ":" + std::to_string(error.line) : "";
    std::fprintf(stderr, "%s%s: %s\n", options.path.c_str(), line.c_str(), error.message.c_str());
  }
  return std::nullopt;
}

std::string UnusedLine(const std::string& path, const JobSpec& spec) {
  std::string fields;
  for (const std::string& field : spec.unused_here) fields += (fields.empty() ? "" : ", ") + field;
  return fields.empty() ? "" : path + ": unused outside a cluster: " + fields;
}

}  // namespace weft
