#include "cli/topology_picture.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <vector>

namespace weft {
namespace {

constexpr int kMostOnEllipse = 16;
constexpr int kMostInMatrix = 64;
constexpr int kMostGridColumns = 24;

std::string Padded(int number, std::size_t width) {
  const std::string text = std::to_string(number);
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

std::size_t Digits(int nodes) { return std::to_string(nodes - 1).size(); }

class Canvas {
 public:
  Canvas(int width, int height)
      : rows_(static_cast<std::size_t>(height), std::string(static_cast<std::size_t>(width), ' ')) {}

  void Line(int x0, int y0, int x1, int y1) {
    const int steps = std::max(std::abs(x1 - x0), std::abs(y1 - y0));
    for (int i = 0; i <= steps; ++i) {
      const double at = static_cast<double>(i) / std::max(steps, 1);
      Put(static_cast<int>(std::lround(x0 + at * (x1 - x0))), static_cast<int>(std::lround(y0 + at * (y1 - y0))), '.');
    }
  }

  // With a space on both sides, so that it stands out of the lines.
  void Label(int x, int y, const std::string& text) {
    const std::string label = " " + text + " ";
    const int left = x - static_cast<int>(label.size()) / 2;
    for (std::size_t i = 0; i < label.size(); ++i) Put(left + static_cast<int>(i), y, label[i]);
  }

  std::string Text() const {
    std::string text;
    for (const std::string& row : rows_) {
      text += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
  }

 private:
  void Put(int x, int y, char c) { rows_.at(static_cast<std::size_t>(y)).at(static_cast<std::size_t>(x)) = c; }

  std::vector<std::string> rows_;
};

std::string OnEllipse(const Topology& topology) {
  const int nodes = topology.nodes();
  const int radius = nodes <= 4 ? 4 : nodes <= 8 ? 6 : 9;  // in rows; a row is as high as two columns are wide
  constexpr int kMargin = 3;
  struct Place {
    int x = 0;
    int y = 0;
  };
  std::vector<Place> places;
  for (int node = 0; node < nodes; ++node) {
    const double angle = 2 * std::numbers::pi * node / nodes - std::numbers::pi / 2;
    places.push_back({.x = static_cast<int>(std::lround(kMargin + 2 * radius * (1 + std::cos(angle)))),
                      .y = static_cast<int>(std::lround(radius * (1 + std::sin(angle))))});
  }
  Canvas canvas(4 * radius + 2 * kMargin + 1, 2 * radius + 1);
  for (const auto& [a, b] : topology.edges()) {
    const Place& from = places[static_cast<std::size_t>(a)];
    const Place& to = places[static_cast<std::size_t>(b)];
    canvas.Line(from.x, from.y, to.x, to.y);
  }
  for (int node = 0; node < nodes; ++node) {
    const Place& place = places[static_cast<std::size_t>(node)];
    canvas.Label(place.x, place.y, std::to_string(node));
  }
  return canvas.Text();
}

// Node 0's neighbours are 1, columns - 1, columns, nodes - columns.
int ColumnsOfTorus(const Topology& topology) { return topology.neighbours(0)[2]; }

std::string AsGrid(const Topology& topology) {
  const int columns = ColumnsOfTorus(topology);
  const std::size_t width = Digits(topology.nodes());
  std::string text;
  std::string down;
  for (int column = 0; column < columns; ++column) down += std::string(width, ' ') + "|  ";
  for (int node = 0; node < topology.nodes(); ++node) {
    const bool last = (node + 1) % columns == 0;
    text += Padded(node, width + 1);
    text += last ? " -\n" : " -";
    if (last) text += down.substr(0, down.find_last_not_of(' ') + 1) + "\n";
  }
  return text + "Each row and each column closes to a ring.\n";
}

std::string AsMatrix(const Topology& topology) {
  const std::size_t width = Digits(topology.nodes());
  std::string text;
  for (int node = 0; node < topology.nodes(); ++node) {
    std::string row(static_cast<std::size_t>(topology.nodes()), '.');
    for (const int neighbour : topology.neighbours(node)) row[static_cast<std::size_t>(neighbour)] = '#';
    row[static_cast<std::size_t>(node)] = '\\';
    text += Padded(node, width) + " " + row + "\n";
  }
  return text;
}

}  // namespace

std::string TopologyPicture(TopologyType type, const Topology& topology) {
  if (type == TopologyType::kTorus && ColumnsOfTorus(topology) <= kMostGridColumns) return AsGrid(topology);
  if (topology.nodes() == 1) return "0\n";
  if (topology.nodes() <= kMostOnEllipse) return OnEllipse(topology);
  if (topology.nodes() <= kMostInMatrix) return AsMatrix(topology);
  return "More than " + std::to_string(kMostInMatrix) + " nodes are drawn by --dot and --svg only.\n";
}

std::string TopologyDot(TopologyType type, const Topology& topology) {
  const bool round = type == TopologyType::kComplete || type == TopologyType::kRing;
  std::string text = std::string("graph weft {\n  layout=") + (round ? "circo" : "neato") +
                     ";\n  node [shape=circle, fontname=\"sans-serif\"];\n";
  for (int node = 0; node < topology.nodes(); ++node) text += "  " + std::to_string(node) + ";\n";
  for (const auto& [a, b] : topology.edges()) {
    text += "  " + std::to_string(a) + " -- " + std::to_string(b) + ";\n";
  }
  return text + "}\n";
}

}  // namespace weft
