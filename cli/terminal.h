// The terminal as a full screen, by ncurses: its settings and its screen come back when the object goes.
#pragma once

#include <memory>
#include <span>

#include "cli/top_view.h"
#include "common/status.h"

namespace weft {

enum class Key { kNone, kQuit, kUp, kDown, kPageUp, kPageDown, kHome, kEnd, kResize };

// Used by one thread; one at a time. Ctrl-C stays a signal.
class Terminal {
 public:
  // Takes stdin and stdout, which are a terminal. FAILED_PRECONDITION: TERM names none that is known.
  static Result<std::unique_ptr<Terminal>> Open();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  TopSize size() const;
  // Does not wait.
  Key ReadKey();
  // False once nobody is at the other end.
  bool alive() const;
  void Draw(std::span<const TopLine> lines);

 private:
  struct Screen;
  explicit Terminal(std::unique_ptr<Screen> screen);

  const std::unique_ptr<Screen> screen_;
};

}  // namespace weft
