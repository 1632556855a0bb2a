#include "agent/model/pool.h"

#include <algorithm>

namespace weft {

void ReluMaxPoolForward(std::int64_t planes, std::int64_t height, std::int64_t width, const float* x, float* y,
                        std::uint8_t* choice) {
  const std::int64_t rows = height / 2;
  const std::int64_t cols = width / 2;
  for (std::int64_t c = 0; c < planes; ++c, x += height * width) {
    for (std::int64_t i = 0; i < rows; ++i, y += cols, choice += cols) {
      const float* top = x + 2 * i * width;
      const float* bottom = top + width;
      for (std::int64_t j = 0; j < cols; ++j) {
        const float values[4] = {top[2 * j], top[2 * j + 1], bottom[2 * j], bottom[2 * j + 1]};
        float largest = 0;
        int where = 4;
        for (int k = 0; k < 4; ++k) {
          where = values[k] > largest ? k : where;
          largest = values[k] > largest ? values[k] : largest;
        }
        y[j] = largest;
        choice[j] = static_cast<std::uint8_t>(where);
      }
    }
  }
}

void ReluMaxPoolBackward(std::int64_t planes, std::int64_t height, std::int64_t width, const float* dy,
                         const std::uint8_t* choice, float* dx) {
  const std::int64_t rows = height / 2;
  const std::int64_t cols = width / 2;
  for (std::int64_t c = 0; c < planes; ++c, dx += height * width) {
    for (std::int64_t i = 0; i < rows; ++i, dy += cols, choice += cols) {
      float* top = dx + 2 * i * width;
      float* bottom = top + width;
      for (std::int64_t j = 0; j < cols; ++j) {
        top[2 * j] = choice[j] == 0 ? dy[j] : 0;
        top[2 * j + 1] = choice[j] == 1 ? dy[j] : 0;
        bottom[2 * j] = choice[j] == 2 ? dy[j] : 0;
        bottom[2 * j + 1] = choice[j] == 3 ? dy[j] : 0;
      }
      if (width % 2 != 0) top[width - 1] = bottom[width - 1] = 0;
    }
    if (height % 2 != 0) std::fill_n(dx + (height - 1) * width, width, 0.0F);
  }
}

}  // namespace weft
