// Overlay graphs as text: a picture for the terminal, and Graphviz's language.
#pragma once

#include <string>

#include "common/math/topology.h"

namespace weft {

// A torus as its grid; other graphs of up to 16 nodes as nodes on an ellipse with lines between them; up to 64 as the
// matrix of who is next to whom; of more nodes one line that says so. Ends with a line break.
std::string TopologyPicture(TopologyType type, const Topology& topology);

// `graph weft { … }`, with the layout that suits the type.
std::string TopologyDot(TopologyType type, const Topology& topology);

}  // namespace weft
