// Serves a registry to Prometheus: GET /metrics over HTTP.
#pragma once

#include <memory>
#include <string>

#include "common/metrics/registry.h"
#include "common/status.h"

namespace prometheus {
class Exposer;
}

namespace weft {

// Serves from construction to destruction, on threads of its own.
class MetricsExporter {
 public:
  // `host` is an IPv4 address to listen on: "127.0.0.1", or "0.0.0.0" for all. Port 0 takes any free one. `registry`
  // outlives the exporter.
  // INVALID_ARGUMENT: the port is not in [0, 65535], or `host` is no address. UNAVAILABLE: the port is in use.
  // PERMISSION_DENIED: a port that needs privileges.
  static Result<std::unique_ptr<MetricsExporter>> Start(const MetricsRegistry& registry, const std::string& host,
                                                        int port);
  ~MetricsExporter();
  MetricsExporter(const MetricsExporter&) = delete;
  MetricsExporter& operator=(const MetricsExporter&) = delete;

  int port() const { return port_; }

 private:
  MetricsExporter(std::unique_ptr<prometheus::Exposer> exposer, int port);

  const std::unique_ptr<prometheus::Exposer> exposer_;
  const int port_;
};

}  // namespace weft
