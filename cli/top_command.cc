#include "cli/top_command.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/progress.h"
#include "cli/run_watcher.h"
#include "cli/terminal.h"
#include "cli/top_view.h"
#include "common/clock.h"
#include "common/rundir/atomic_file.h"
#include "common/rundir/run_directory.h"

namespace weft {
namespace {

constexpr Duration kAnswerTime = std::chrono::seconds(3);
constexpr Duration kFirstWordTime = std::chrono::seconds(5);
constexpr Duration kReplayTime = std::chrono::milliseconds(300);  // in which what has been comes, after the first word
constexpr Duration kPoll = std::chrono::milliseconds(50);
constexpr Duration kFrame = std::chrono::seconds(1);  // at the latest: the ages of figures grow
constexpr std::size_t kMaxAddressBytes = 4096;
constexpr const char* kSocketPrefix = "unix:";

volatile std::sig_atomic_t quit_signals = 0;
void NoteSignal(int /*signal*/) { quit_signals = 1; }

struct TopFlags {
  std::string run;
  std::string coordinator;
  bool once = false;
};

// INVALID_ARGUMENT: it holds no run, or one that does not go on.
Result<std::string> AddressOfRun(const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(const RunDirectory run, RunDirectory::OpenToRead(path));
  const Result<std::string> text = ReadSmallFile(run.coordinator(), kMaxAddressBytes);
  if (!text.ok()) {
    std::error_code error;
    return InvalidArgumentError(path + (std::filesystem::exists(run.summary(), error)
                                            ? ": this run has ended; report.html and summary.json there tell of it"
                                            : ": this run does not go on"));
  }
  return text->substr(0, text->find('\n'));
}

// What gRPC takes. INVALID_ARGUMENT: neither a socket that is there nor HOST:PORT.
Result<std::string> CheckedAddress(const std::string& given) {
  const bool is_path = given.starts_with(kSocketPrefix) || given.starts_with('/') || given.starts_with('.');
  if (is_path) {
    const std::string path = given.starts_with(kSocketPrefix) ? given.substr(std::string(kSocketPrefix).size()) : given;
    std::error_code error;
    if (!std::filesystem::is_socket(path, error)) return InvalidArgumentError("--coordinator: no socket at " + path);
    return kSocketPrefix + std::filesystem::absolute(path).string();
  }
  const std::size_t colon = given.rfind(':');
  const std::string port = colon == std::string::npos ? "" : given.substr(colon + 1);
  const bool digits = !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || colon == 0 || std::stoi(port) < 1 || std::stoi(port) > 65535) {
    return InvalidArgumentError("--coordinator: '" + given + "' is neither HOST:PORT nor unix:PATH");
  }
  return given;
}

double SecondsSince(TimePoint then, TimePoint now) { return std::chrono::duration<double>(now - then).count(); }

// Keeps a state up to date.
class Follower {
 public:
  explicit Follower(std::unique_ptr<RunWatcher> watcher) : watcher_(std::move(watcher)) {}

  const TopState& state() const { return state_; }
  bool over() const { return state_.ended.has_value() || state_.lost; }
  // Takes what there is, and waits for it at most until `deadline`. Whether there was anything.
  bool Update(TimePoint deadline) {
    bool news = false;
    for (auto event = watcher_->WaitUntil(deadline); event.has_value();
         event = watcher_->WaitUntil(Clock::Steady().Now())) {
      Take(*event, &state_);
      if (event->has_progress()) progress_came_ = Clock::Steady().Now();
      news = true;
    }
    if (state_.progress.has_value()) {
      state_.progress_age_seconds = SecondsSince(progress_came_, Clock::Steady().Now());
    }
    if (!state_.ended.has_value() && watcher_->done()) state_.lost = true;
    return news;
  }

 private:
  const std::unique_ptr<RunWatcher> watcher_;
  TopState state_;
  TimePoint progress_came_{};
};

void Print(const TopState& state) {
  winsize size = {};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && isatty(STDOUT_FILENO) == 1;
  for (const TopLine& line : RenderTop(state, {.rows = 0, .columns = known ? size.ws_col : 0u}, 0)) {
    const std::size_t end = line.text.find_last_not_of(' ');
    std::printf("%s\n", line.text.substr(0, end == std::string::npos ? 0 : end + 1).c_str());
  }
  if (!state.ended.has_value()) return;
  std::printf("the run ended with exit code %d%s%s\n", state.ended->exit_code(),
              state.ended->message().empty() ? "" : ": ", state.ended->message().c_str());
  std::fputs(SummaryText(state.ended->summary_json()).c_str(), stdout);
  std::printf("run directory: %s\n", state.ended->run_directory().c_str());
}

Status LostOf(const std::string& address) {
  return UnavailableError("top: the coordinator at " + address + " is gone, and has not said how the run ended");
}

Status ShowOnce(Follower& follower, const std::string& address) {
  Clock& clock = Clock::Steady();
  if (!follower.Update(clock.Now() + kFirstWordTime)) {
    return follower.over() ? LostOf(address) : UnavailableError("top: the coordinator at " + address + " says nothing");
  }
  const TimePoint deadline = clock.Now() + kReplayTime;
  while (!follower.over() && !follower.state().progress.has_value() && clock.Now() < deadline)
    follower.Update(deadline);
  Print(follower.state());
  return OkStatus();
}

std::size_t Scrolled(std::size_t scroll, Key key, TopScroll of) {
  switch (key) {
    case Key::kUp:
      return scroll - std::min<std::size_t>(scroll, 1);
    case Key::kDown:
      return std::min(scroll + 1, of.largest);
    case Key::kPageUp:
      return scroll - std::min(scroll, of.page);
    case Key::kPageDown:
      return std::min(scroll + of.page, of.largest);
    case Key::kHome:
      return 0;
    case Key::kEnd:
      return of.largest;
    case Key::kNone:
    case Key::kQuit:
    case Key::kResize:
      return std::min(scroll, of.largest);
  }
  return scroll;
}

// Until somebody quits, or the run is over.
void Watch(Follower& follower, Terminal& terminal) {
  Clock& clock = Clock::Steady();
  std::size_t scroll = 0;
  TimePoint next_frame{};
  while (quit_signals == 0 && !follower.over() && terminal.alive()) {
    bool changed = follower.Update(clock.Now() + kPoll);
    for (Key key = terminal.ReadKey(); key != Key::kNone; key = terminal.ReadKey()) {
      if (key == Key::kQuit) return;
      scroll = Scrolled(scroll, key, ScrollOf(follower.state(), terminal.size()));
      changed = true;
    }
    if (!changed && clock.Now() < next_frame) continue;
    next_frame = clock.Now() + kFrame;
    terminal.Draw(RenderTop(follower.state(), terminal.size(), scroll));
  }
}

Status ShowLive(Follower& follower, const std::string& address) {
  struct sigaction action = {};
  action.sa_handler = NoteSignal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaction(signal, &action, nullptr);
  {
    WEFT_ASSIGN_OR_RETURN(const std::unique_ptr<Terminal> terminal, Terminal::Open());
    Watch(follower, *terminal);
  }
  Print(follower.state());
  return follower.state().lost ? LostOf(address) : OkStatus();
}

Status Run(const TopFlags& flags) {
  if (flags.run.empty() == flags.coordinator.empty()) {
    return InvalidArgumentError(flags.run.empty() ? "top: a run directory or --coordinator is needed"
                                                  : "top: a run directory and --coordinator exclude each other");
  }
  WEFT_ASSIGN_OR_RETURN(const std::string address,
                        flags.run.empty() ? CheckedAddress(flags.coordinator) : AddressOfRun(flags.run));
  Result<std::unique_ptr<RunWatcher>> watcher = RunWatcher::Connect(address, Clock::Steady().Now() + kAnswerTime);
  if (!watcher.ok()) {
    return flags.run.empty() ? watcher.status().WithContext("top")
                             : watcher.status().WithContext(flags.run + ": this run does not go on");
  }
  Follower follower(std::move(watcher).value());
  const bool terminal = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
  return flags.once || !terminal ? ShowOnce(follower, address) : ShowLive(follower, address);
}

}  // namespace

void AddTopCommand(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("top", "Shows a run that goes on, full-screen in the terminal");
  const auto flags = std::make_shared<TopFlags>();
  command->add_option("RUN", flags->run, "The run directory");
  command
      ->add_option("--coordinator", flags->coordinator,
                   "Instead: where the run's coordinator listens, unix:PATH or HOST:PORT")
      ->option_text("ADDR");
  command->add_flag("--once", flags->once, "Print one frame as text and end; so it is where this is no terminal");
  command->callback([flags, exit_code] { *exit_code = ReportStatus(Run(*flags)); });
}

}  // namespace weft
