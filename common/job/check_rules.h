// The rules that bind several fields of a job, and the defaults that depend on other fields.
#pragma once

#include <vector>

#include "common/job/check_fields.h"
#include "common/job/job_spec.h"
#include "common/job/parse.h"

namespace weft {

// Fills in the dependent defaults (data.format, worker.minReplicas and maxReplicas, server.replicas) and adds to
// `errors`. A rule whose fields have errors of their own is passed over.
void CheckRules(const FieldReadings& readings, JobSpec* spec, std::vector<JobError>* errors);

}  // namespace weft
