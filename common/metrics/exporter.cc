#include "common/metrics/exporter.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <prometheus/exposer.h>
#include <prometheus/registry.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>
#include <vector>

namespace weft {
namespace {

std::string Describe(int port) { return "metrics port " + std::to_string(port) + ": "; }

// Binds the address for a moment. The HTTP server would say only that something went wrong.
Status TryAddress(const std::string& host, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) {
    return InvalidArgumentError("metrics address: \"" + host + "\" is no IPv4 address");
  }
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return UnavailableError(Describe(port) + std::generic_category().message(errno));
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  int error_number = 0;
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || ::listen(socket, 1) != 0) {
    error_number = errno;
  }
  ::close(socket);
  if (error_number == 0) return OkStatus();
  std::string text = std::generic_category().message(error_number);
  text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  if (error_number == EACCES) return PermissionDeniedError(Describe(port) + text);
  return UnavailableError(Describe(port) + text);
}

}  // namespace

Result<std::unique_ptr<MetricsExporter>> MetricsExporter::Start(const MetricsRegistry& registry,
                                                                const std::string& host, int port) {
  if (port < 0 || port > 65535) return InvalidArgumentError(Describe(port) + "is not in [0, 65535]");
  WEFT_RETURN_IF_ERROR(TryAddress(host, port));
  try {
    // One thread: Prometheus asks every few seconds, and a rank's cores are for training.
    auto exposer = std::make_unique<prometheus::Exposer>(host + ":" + std::to_string(port), 1);
    exposer->RegisterCollectable(registry.registry_);
    const std::vector<int> ports = exposer->GetListeningPorts();
    if (ports.empty()) return UnavailableError(Describe(port) + "the server listens on none");
    return std::unique_ptr<MetricsExporter>(new MetricsExporter(std::move(exposer), ports.front()));
  } catch (const std::exception& error) {
    // Somebody took the port after it was tried, or no thread could be started.
    std::string text = error.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return UnavailableError(Describe(port) + text);
  }
}

MetricsExporter::MetricsExporter(std::unique_ptr<prometheus::Exposer> exposer, int port)
    : exposer_(std::move(exposer)), port_(port) {}

MetricsExporter::~MetricsExporter() = default;

}  // namespace weft
