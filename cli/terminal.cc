#include "cli/terminal.h"

// Its macros have names like `timeout` and `clear`.
#define NCURSES_NOMACROS
#include <langinfo.h>
#include <ncurses.h>
#include <poll.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

namespace weft {
namespace {

constexpr int kEscape = 27;
constexpr int kEscapeMilliseconds = 25;  // in which the rest of a key's sequence comes
constexpr short kWarningColor = 1;

attr_t AttributesOf(TopStyle style) {
  switch (style) {
    case TopStyle::kPlain:
      return A_NORMAL;
    case TopStyle::kBold:
      return A_BOLD;
    case TopStyle::kTitle:
      return A_REVERSE;
    case TopStyle::kWarning:
      return has_colors() ? static_cast<attr_t>(COLOR_PAIR(kWarningColor)) : A_BOLD;
  }
  return A_NORMAL;
}

}  // namespace

struct Terminal::Screen {
  SCREEN* screen = nullptr;
};

Result<std::unique_ptr<Terminal>> Terminal::Open() {
  // For letters outside of ASCII, also where the user's locale has none.
  std::setlocale(LC_CTYPE, "");
  if (std::string(nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
  SCREEN* const screen = newterm(nullptr, stdout, stdin);
  if (screen == nullptr) {
    const char* name = std::getenv("TERM");
    return FailedPreconditionError("top: TERM is '" + std::string(name == nullptr ? "" : name) +
                                   "', which is no terminal that is known; --once prints a frame as text");
  }
  auto own = std::make_unique<Screen>();
  own->screen = screen;
  return std::unique_ptr<Terminal>(new Terminal(std::move(own)));
}

Terminal::Terminal(std::unique_ptr<Screen> screen) : screen_(std::move(screen)) {
  cbreak();
  noecho();
  nodelay(stdscr, TRUE);
  keypad(stdscr, TRUE);
  set_escdelay(kEscapeMilliseconds);
  curs_set(0);
  if (has_colors()) {
    start_color();
    use_default_colors();
    init_pair(kWarningColor, COLOR_YELLOW, -1);
  }
}

Terminal::~Terminal() {
  endwin();
  delscreen(screen_->screen);
}

TopSize Terminal::size() const {
  return {.rows = static_cast<std::size_t>(getmaxy(stdscr)), .columns = static_cast<std::size_t>(getmaxx(stdscr))};
}

bool Terminal::alive() const {
  pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  return poll(&input, 1, 0) < 0 || (input.revents & (POLLHUP | POLLERR | POLLNVAL)) == 0;
}

Key Terminal::ReadKey() {
  switch (getch()) {
    case 'q':
    case 'Q':
    case kEscape:
      return Key::kQuit;
    case KEY_UP:
    case 'k':
      return Key::kUp;
    case KEY_DOWN:
    case 'j':
      return Key::kDown;
    case KEY_PPAGE:
      return Key::kPageUp;
    case KEY_NPAGE:
    case ' ':
      return Key::kPageDown;
    case KEY_HOME:
    case 'g':
      return Key::kHome;
    case KEY_END:
    case 'G':
      return Key::kEnd;
    case KEY_RESIZE:
      return Key::kResize;
    default:
      return Key::kNone;
  }
}

void Terminal::Draw(std::span<const TopLine> lines) {
  erase();
  int row = 0;
  for (const TopLine& line : lines) {
    attrset(static_cast<int>(AttributesOf(line.style)));
    mvaddstr(row++, 0, line.text.c_str());
  }
  attrset(static_cast<int>(A_NORMAL));
  refresh();
}

}  // namespace weft
