// What a rank exports to Prometheus (common/metrics/names.h has the meanings).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/dataplane/data_plane.h"
#include "agent/dataplane/parameter_server.h"
#include "agent/model/model.h"
#include "common/metrics/exporter.h"
#include "common/metrics/registry.h"
#include "common/status.h"

namespace weft {

// Each rank has one and serves it until destruction.
class AgentMetrics {
 public:
  // Serves at the IPv4 address `host`. Port 0: any free one; below 0: nothing is served. Errors: as
  // MetricsExporter::Start.
  static Result<std::unique_ptr<AgentMetrics>> Start(const std::string& job, const std::string& host, int port);

  int port() const { return exporter_ == nullptr ? 0 : exporter_->port(); }
  MetricsRegistry& registry() { return registry_; }

 private:
  explicit AgentMetrics(const std::string& job) : registry_(job) {}

  MetricsRegistry registry_;
  std::unique_ptr<MetricsExporter> exporter_;
};

// The series of a worker. One thread. A gauge begins with its first value: none stands at 0 for what is not known.
class WorkerMetrics {
 public:
  // `with_servers`: transfers are pushes and pulls of groups; else what a worker sends and receives in all.
  WorkerMetrics(MetricsRegistry& registry, int groups, bool with_servers);
  // `staleness_iterations`: as IterationReport has it.
  void Record(const IterationRecord& record, const BatchResult& result, double staleness_iterations);

 private:
  struct Group {
    Counter pushed;
    Counter pulled;
    std::optional<Gauge> bandwidth;  // once it was transferred
  };
  // What only a plane with servers has.
  struct Slots {
    Counter overruns;
    Histogram start_error;
    Histogram staleness;
  };
  MetricsRegistry& registry_;
  Histogram iteration_;
  Histogram compute_;
  Counter stall_;
  std::optional<Gauge> loss_;  // once there is one
  std::optional<Slots> slots_;
  std::vector<Group> groups_;
  std::optional<Counter> sent_;  // without servers
  std::optional<Counter> received_;
};

// The series of a server. Thread-safe, as its handles are.
class ServerMetrics {
 public:
  explicit ServerMetrics(MetricsRegistry& registry);
  void Record(const ServerStatistics& statistics);

 private:
  Gauge receiving_;
  Gauge sending_;
};

// The series of the rank that evaluates. Thread-safe, as its registry is.
class WriterMetrics {
 public:
  explicit WriterMetrics(MetricsRegistry& registry) : registry_(registry) {}
  void RecordAccuracy(double accuracy) { registry_.MakeGauge(metric::kAccuracy).Set(accuracy); }

 private:
  MetricsRegistry& registry_;
};

// What a plane without servers exchanges. One thread.
class ExchangeMetrics {
 public:
  explicit ExchangeMetrics(MetricsRegistry& registry) : registry_(registry) {}
  // The totals of now.
  void Record(const ExchangeStatistics& statistics);

 private:
  MetricsRegistry& registry_;
  std::map<std::string, std::int64_t> interactions_;  // as recorded before, by result
  std::int64_t further_digit_blocks_ = 0;
  std::int64_t raw_blocks_ = 0;
};

}  // namespace weft
