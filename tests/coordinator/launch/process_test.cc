#include "coordinator/launch/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace weft {
namespace {

using testing::HasSubstr;

TimePoint In(Duration duration) { return Clock::Steady().Now() + duration; }
constexpr Duration kLong = std::chrono::seconds(30);

Command Shell(const std::string& script) {
  Command command;
  command.arguments = {"sh", "-c", script};
  return command;
}

std::string Contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(ProcessTest, Exit_IsTold) {
  Result<Process> process = Process::Start(Shell("exit 3"));
  ASSERT_TRUE(process.ok()) << process.status();
  const std::optional<ProcessExit> exit = process->WaitUntil(In(kLong));
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->ToString(), "ended with exit code 3");
}

TEST(ProcessTest, Signal_IsTold) {
  Result<Process> process = Process::Start(Shell("exec sleep 60"));
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_FALSE(process->WaitUntil(Clock::Steady().Now()).has_value());
  process->Signal(SIGKILL);
  const std::optional<ProcessExit> exit = process->WaitUntil(In(kLong));
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->ToString(), "was killed by signal 9");
}

TEST(ProcessTest, MissingProgram_IsNotFoundByName) {
  Command command;
  command.arguments = {"/no/such/program"};
  const Result<Process> process = Process::Start(command);
  ASSERT_FALSE(process.ok());
  EXPECT_EQ(process.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(process.status().message(), HasSubstr("/no/such/program"));
}

TEST(ProcessTest, EnvironmentAndOutput_AreTheCommands) {
  const std::string path = testing::TempDir() + "weft_process_output";
  std::filesystem::remove(path);
  Command command = Shell("echo value $WEFT_TEST_VALUE; echo error >&2");
  command.environment = {{"WEFT_TEST_VALUE", "17"}};
  command.output_path = path;
  Result<Process> process = Process::Start(command);
  ASSERT_TRUE(process.ok()) << process.status();
  ASSERT_TRUE(process->WaitUntil(In(kLong)).has_value());
  EXPECT_EQ(Contents(path), "value 17\nerror\n");
  std::filesystem::remove(path);
}

TEST(ProcessTest, NewSession_IsLedByTheProcess) {
  Command command = Shell("exec sleep 60");
  command.new_session = true;
  Result<Process> process = Process::Start(command);
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_EQ(getsid(process->pid()), process->pid());
  process->Signal(SIGKILL);
  EXPECT_TRUE(process->WaitUntil(In(kLong)).has_value());
}

// The orphan's parent has ended and the orphan is deaf to SIGTERM.
TEST(ProcessTest, EndDescendants_FindsOrphansAndKillsTheDeaf) {
  ASSERT_TRUE(BecomeSubreaper().ok());
  const std::string path = testing::TempDir() + "weft_process_orphan";
  std::filesystem::remove(path);
  Command command = Shell("(trap '' TERM; echo up; while true; do sleep 0.05; done) & exit 0");
  command.new_session = true;
  command.output_path = path;
  Result<Process> process = Process::Start(command);
  ASSERT_TRUE(process.ok()) << process.status();
  ASSERT_TRUE(process->WaitUntil(In(kLong)).has_value());
  for (const TimePoint deadline = In(kLong); Contents(path) != "up\n" && Clock::Steady().Now() < deadline;)
    usleep(1000);
  const Status status = EndDescendants(std::chrono::milliseconds(100), In(kLong));
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_NE(killpg(process->pid(), 0), 0) << "a process of the session is left";
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace weft
