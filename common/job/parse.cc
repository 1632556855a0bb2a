#include "common/job/parse.h"

#include <algorithm>

#include "common/job/check_fields.h"
#include "common/job/check_rules.h"
#include "common/job/overrides.h"
#include "common/job/yaml_tree.h"

namespace weft {

ParsedJob ParseJob(std::string_view text, std::span<const std::string> overrides) {
  ParsedJob job;
  job.text = text;
  YamlNode root;
  if (YamlError error; !ParseYaml(text, &root, &error)) {
    job.errors.push_back({error.line, "the job " + error.message});
    return job;
  }
  if (root.kind != YamlNode::Kind::kMap) {
    job.errors.push_back({root.line, "the job is not a map of fields"});
    return job;
  }
  for (const std::string& assignment : overrides) {
    if (const Status status = ApplyOverride(assignment, &root); !status.ok()) {
      job.errors.push_back({0, "--set " + status.message()});
    }
  }
  for (const Dropped& dropped : DropOthersSettings(&root)) {
    std::string note = dropped.selector + "=" + dropped.type + ": dropped ";
    for (const std::string& path : dropped.paths) note += (path == dropped.paths.front() ? "" : ", ") + path;
    job.notes.push_back(note);
  }
  FieldReadings readings = CheckFields(root, &job.spec, &job.errors);
  CheckRules(readings, &job.spec, &job.errors);
  std::stable_sort(job.errors.begin(), job.errors.end(),
                   [](const JobError& a, const JobError& b) { return a.line < b.line; });
  if (!overrides.empty()) job.text = EmitYaml(root);
  return job;
}

Status ToStatus(const std::vector<JobError>& errors) {
  std::string line;
  for (const JobError& error : errors) line += (line.empty() ? "" : "; ") + error.message;
  return errors.empty() ? OkStatus() : InvalidArgumentError(line);
}

}  // namespace weft
