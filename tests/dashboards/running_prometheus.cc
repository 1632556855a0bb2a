#include "tests/dashboards/running_prometheus.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/common/metrics/http_get.h"

namespace weft {
namespace {

constexpr Duration kStartTime = std::chrono::seconds(60);
constexpr Duration kPoll = std::chrono::milliseconds(100);

int FreePort() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(listener);
  return ntohs(address.sin_port);
}

// The shipped configuration, with each interval at a second.
std::string FastConfiguration() {
  std::ostringstream fast;
  std::ifstream shipped("dashboards/prometheus.yaml");
  for (std::string line; std::getline(shipped, line);) {
    const std::size_t interval = line.find("_interval: ");
    if (interval != std::string::npos) line = line.substr(0, interval) + "_interval: 1s";
    fast << line << "\n";
  }
  return fast.str();
}

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char letter : text) {
    std::array<char, 4> code{};
    std::snprintf(code.data(), code.size(), "%%%02X", static_cast<unsigned char>(letter));
    escaped += code.data();
  }
  return escaped;
}

}  // namespace

RunningPrometheus::RunningPrometheus(const std::string& folder) : port_(FreePort()) {
  std::ofstream(folder + "/prometheus.yaml") << FastConfiguration();
  std::filesystem::copy("dashboards/alerts.yaml", folder);
  std::filesystem::create_directory(folder + "/targets");
  Command command;
  command.arguments = {"prometheus", "--config.file=" + folder + "/prometheus.yaml",
                       "--storage.tsdb.path=" + folder + "/data",
                       "--web.listen-address=127.0.0.1:" + std::to_string(port_)};
  command.output_path = folder + "/prometheus.log";
  Result<Process> process = Process::Start(command);
  EXPECT_TRUE(process.ok()) << process.status();
  if (!process.ok()) return;
  process_.emplace(std::move(process).value());
  const TimePoint deadline = Clock::Steady().Now() + kStartTime;
  while (Clock::Steady().Now() < deadline && HttpGet(port_, "/-/ready").find(" 200 ") == std::string::npos) {
    std::this_thread::sleep_for(kPoll);
  }
}

RunningPrometheus::~RunningPrometheus() {
  if (!process_.has_value()) return;
  process_->Signal(SIGTERM);
  if (process_->WaitUntil(Clock::Steady().Now() + std::chrono::seconds(20)).has_value()) return;
  process_->Signal(SIGKILL);
  process_->WaitUntil(Clock::Steady().Now() + std::chrono::seconds(5));
}

nlohmann::json RunningPrometheus::Get(const std::string& path) const {
  const std::string answer = HttpGet(port_, path);
  const std::size_t body = answer.find("\r\n\r\n");
  const nlohmann::json json =
      body == std::string::npos ? nlohmann::json() : nlohmann::json::parse(answer.substr(body), nullptr, false);
  if (!json.is_object() || json.value("status", "") != "success") {
    ADD_FAILURE() << path << ": " << answer;
    return nlohmann::json::object();
  }
  return json["data"];
}

nlohmann::json RunningPrometheus::Query(const std::string& expression) const {
  const nlohmann::json data = Get("/api/v1/query?query=" + Escaped(expression));
  return data.contains("result") ? data["result"] : nlohmann::json::array();
}

std::optional<double> RunningPrometheus::Value(const std::string& expression) const {
  const nlohmann::json samples = Query(expression);
  if (samples.size() != 1) return std::nullopt;
  return std::stod(samples[0]["value"][1].get<std::string>());
}

}  // namespace weft
