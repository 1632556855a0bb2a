// A TrainingJob from YAML: defaults filled in, checked against the table of fields (fields.h) and against the rules
// that bind several fields, all errors at once.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/job/job_spec.h"
#include "common/status.h"

namespace weft {

// One thing that is wrong: "worker.replicas: 0 is below 1". Paths are without `spec.`.
struct JobError {
  int line = 0;  // 1-based; 0: of no line of the file (an override, a field that is missing)
  std::string message;

  friend bool operator==(const JobError&, const JobError&) = default;
};

struct ParsedJob {
  JobSpec spec;                  // as far as it could be read; complete when there are no errors
  std::string text;              // the job as it is run: the file, or the file with the overrides put in
  std::vector<JobError> errors;  // by line
  // What a person should know who gave the overrides: "strategy.type=Swarm: dropped strategy.parameterServer, server".
  std::vector<std::string> notes;

  bool ok() const { return errors.empty(); }
};

// `overrides` are "path=value", the path with or without `spec.`, the value YAML ("" is the empty string, null takes
// the field out), applied in order before anything is checked. Enum values in them are taken in any case and with or
// without hyphens, and stand in `text` as the format spells them. One that sets strategy.type drops what the file holds
// for strategies of another family, or for the other optimizer, and `notes` says so; settings that are overrides too
// are never dropped.
//
// Refused: what ParseYaml refuses; another apiVersion or kind; a field that is not in the table (with the nearest known
// name), is missing, has another type or is out of its limits; a field of another strategy, model, format or optimizer
// than the one chosen; numbers that do not fit each other (replicas in [min, max], alpha + beta >= 2, ...); an override
// without "=", or with a path that leads through a value.
ParsedJob ParseJob(std::string_view text, std::span<const std::string> overrides = {});

// OK, or INVALID_ARGUMENT with all errors in one line.
Status ToStatus(const std::vector<JobError>& errors);

}  // namespace weft
