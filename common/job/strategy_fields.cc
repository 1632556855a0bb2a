#include "common/job/field_rows.h"
#include "common/math/topology.h"

namespace weft {
namespace {

// The overlay graph of a strategy whose nodes average with neighbours, at `path`.
template <typename AtType, typename AtDegree, typename AtEdges>
void AddTopology(std::vector<Row>& rows, const std::string& path, AtType at_type, AtDegree at_degree,
                 AtEdges at_edges) {
  const std::string type = path + ".type";
  rows.push_back(Object(path, "Which nodes are neighbours."));
  rows.push_back(Enum(type, at_type, TopologyNames(), "The graph's kind."));
  rows.push_back(Value(path + ".degree", at_degree, "Neighbours of each node.")
                     .Range(1, 1023)
                     .Default("")
                     .OnlyWith(type, {"RandomRegular"}));
  Row edges = Plain(FieldType::kPairs, path + ".edges", "Pairs of neighbours, as ranks from 0: `[[0, 1], [1, 2]]`.");
  edges.field.minimum = 0;
  edges.field.maximum = 1023;
  edges.field.max_length = 10'000;
  edges.field.set = [at_edges](JobSpec& spec, const FieldValue& value) {
    at_edges(spec).clear();
    for (const auto& [a, b] : std::get<std::vector<std::pair<std::int64_t, std::int64_t>>>(value)) {
      at_edges(spec).emplace_back(static_cast<int>(a), static_cast<int>(b));
    }
  };
  rows.push_back(std::move(edges).OnlyWith(type, {"EdgeList"}));
}

// SlowMo, worn by the strategy at `path`; `types` where not all that have this path can wear it.
template <typename At>
void AddSlowMo(std::vector<Row>& rows, const std::string& path, At at, const std::string& when,
               const std::vector<std::string>& types = {}) {
  Row momentum = Value(
                     path + ".slowMomentum", [at](auto& spec) -> auto& { return at(spec).momentum; },
                     "Momentum of SlowMo's outer step; 0, with slowRate 1: no such step. " + when)
                     .AtLeast(0)
                     .Below(1);
  Row rate =
      Value(
          path + ".slowRate", [at](auto& spec) -> auto& { return at(spec).rate; }, "Rate of SlowMo's outer step.")
          .Above(0)
          .AtMost(100);
  for (Row* row : {&momentum, &rate}) {
    if (!types.empty()) *row = std::move(*row).OnlyWith("spec.strategy.type", types);
    rows.push_back(std::move(*row));
  }
}

}  // namespace

void AddStrategy(std::vector<Row>& rows) {
  const std::string type = "spec.strategy.type";
  rows.push_back(Object("spec.strategy", "How the workers learn from each other."));
  rows.push_back(Enum(type, WEFT_AT(strategy.type),
                      {"Auto", "InterleavedPS", "MergedPS", "BulkSynchronousPS", "Swarm", "AllReduce", "LocalSGD",
                       "DPSGD", "ADPSGD", "SGP"},
                      "The strategy. "
                      "`Auto`: the plan picks one, with its settings, from the measured timeline and links. "
                      "`InterleavedPS`: parameter servers with elastic averaging, transfers staggered over iterations "
                      "and workers. "
                      "`MergedPS`: synchronous SGD over parameter servers, layers merged into groups. "
                      "`BulkSynchronousPS`: the same layer by layer, after the whole backward. "
                      "`Swarm`: SwarmSGD, each node averages with one random neighbour every localSteps and waits for "
                      "nobody. "
                      "`AllReduce`: synchronous SGD, gradients summed over all workers during backward. "
                      "`LocalSGD`: all workers' weights are averaged every localSteps. "
                      "`DPSGD`: each iteration every worker averages with all of its neighbours. "
                      "`ADPSGD`: beside its steps each worker averages with one random neighbour after the other. "
                      "`SGP`: stochastic gradient push, each worker pushes shares of its weights to a changing "
                      "neighbour."));
  rows.push_back(Value("spec.strategy.maxStaleness", WEFT_AT(strategy.max_staleness),
                       "The most iterations that may lie between two exchanges of the same weight in what Auto picks. "
                       "More allows less traffic and staler weights.")
                     .Range(1, 1024)
                     .OnlyWith(type, {"Auto"}));
  rows.push_back(
      Value("spec.strategy.replan", WEFT_AT(strategy.replan),
            "Whether the run plans again when links or computing have drifted by more than 20 % from what the "
            "plan was made for, for 50 iterations. A run that was given its plan, or goes on from a "
            "checkpoint, keeps to its plans.")
          .OnlyWith(type, {"Auto", "InterleavedPS", "MergedPS", "BulkSynchronousPS", "AllReduce"}));
  const std::string ps = "spec.strategy.parameterServer";
  rows.push_back(Object(ps, "Of the parameter-server strategies.")
                     .OnlyWith(type, {"Auto", "InterleavedPS", "MergedPS", "BulkSynchronousPS"}));
  rows.push_back(Value(ps + ".period", WEFT_AT(strategy.parameter_server.period),
                       "T: every group of layers synchronizes once in so many iterations. 0: the plan chooses. "
                       "More means less traffic and staler weights.")
                     .Range(0, 1024));
  rows.push_back(Enum(ps + ".fusion", WEFT_AT(strategy.parameter_server.fusion), {"PerLayer", "MGWFBP", "Optimal"},
                      "Which consecutive layers are sent as one group. `MGWFBP`: the greedy merge of MG-WFBP. "
                      "`Optimal`: the partition whose last transfer ends earliest."));
  rows.push_back(Enum(ps + ".phase", WEFT_AT(strategy.parameter_server.phase), {"Figure", "Formula"},
                      "When group i synchronizes, t the iteration from 1: (t + i) mod T = 0, or i mod T = t mod T."));
  rows.push_back(Enum(ps + ".window", WEFT_AT(strategy.parameter_server.window), {"AfterBackward", "WholeIteration"},
                      "Where a group's time on the link lies: behind its gradients, or anywhere in the iteration."));
  rows.push_back(Enum(ps + ".tail", WEFT_AT(strategy.parameter_server.tail), {"Half", "Measured"},
                      "What stands for the next forward in the last windows: half of what is left of backward, or the "
                      "measured forward times."));
  rows.push_back(Enum(ps + ".apply", WEFT_AT(strategy.parameter_server.apply), {"Deadline", "Late"},
                      "When a pulled centre is applied: before the group's next forward, which waits for it, or at "
                      "the group's next step."));
  rows.push_back(Value(ps + ".admission", WEFT_AT(strategy.parameter_server.admission),
                       "Whether a server admits one worker at a time."));
  rows.push_back(Value(ps + ".centerRate", WEFT_AT(strategy.parameter_server.center_rate),
                       "β: how far the centre moves to the workers' mean in a round. α + β stays below 2.")
                     .Above(0)
                     .Below(2));
  rows.push_back(Value(ps + ".elasticRate", WEFT_AT(strategy.parameter_server.elastic_rate),
                       "α: how far a worker moves to the centre in a round.")
                     .Above(0)
                     .Below(2)
                     .Default("(centerRate / live workers)"));

  const std::string swarm = "spec.strategy.swarm";
  rows.push_back(Object(swarm, "Of Swarm.").OnlyWith(type, {"Swarm"}));
  AddTopology(rows, swarm + ".topology", WEFT_AT(strategy.swarm.topology.type), WEFT_AT(strategy.swarm.topology.degree),
              WEFT_AT(strategy.swarm.topology.edges));
  rows.push_back(Value(swarm + ".localSteps", WEFT_AT(strategy.swarm.local_steps),
                       "H: steps of its own that a node takes between two interactions.")
                     .Range(1, 1'000'000));
  rows.push_back(Enum(swarm + ".localStepsDistribution", WEFT_AT(strategy.swarm.local_steps_distribution),
                      {"Constant", "Geometric"}, "Whether localSteps is the number or its mean."));
  rows.push_back(Value(swarm + ".maxLead", WEFT_AT(strategy.swarm.max_lead),
                       "Iterations that a node may be ahead of a neighbour that goes on, which it waits for otherwise; "
                       "0: any number. Nodes that hold different kinds of samples need it, or the mean follows the "
                       "node that runs.")
                     .Range(0, 1'000'000)
                     .Default("(with `data.partition.type` `LabelSkew` 8 localSteps, else 0)"));
  rows.push_back(Object(swarm + ".quantization", "How models are sent."));
  rows.push_back(Value(swarm + ".quantization.bits", WEFT_AT(strategy.swarm.quantization_bits),
                       "Bits a weight, 2 to 16; 0: float32.")
                     .Range(0, 16));
  rows.push_back(Value(swarm + ".quantization.rotation", WEFT_AT(strategy.swarm.quantization_rotation),
                       "Whether blocks are rotated before they are quantized."));
  AddSlowMo(rows, swarm, WEFT_AT(strategy.swarm.slow), "Taken at each interaction.");

  const std::string local = "spec.strategy.localSGD";
  rows.push_back(Object(local, "Of LocalSGD.").OnlyWith(type, {"LocalSGD"}));
  rows.push_back(Value(local + ".localSteps", WEFT_AT(strategy.local_sgd.local_steps), "Steps between two averagings.")
                     .Range(1, 1'000'000));
  AddSlowMo(rows, local, WEFT_AT(strategy.local_sgd.slow), "Taken at each averaging.");

  const std::string decentralized = "spec.strategy.decentralized";
  rows.push_back(Object(decentralized, "Of DPSGD, ADPSGD and SGP.").OnlyWith(type, {"DPSGD", "ADPSGD", "SGP"}));
  AddTopology(rows, decentralized + ".topology", WEFT_AT(strategy.decentralized.topology.type),
              WEFT_AT(strategy.decentralized.topology.degree), WEFT_AT(strategy.decentralized.topology.edges));
  rows.push_back(Enum(decentralized + ".order", WEFT_AT(strategy.decentralized.order),
                      {"CombineThenAdapt", "AdaptThenCombine"},
                      "Whether neighbours average the weights from before the step, so that sending overlaps with "
                      "compute, or those behind it.")
                     .OnlyWith(type, {"DPSGD"}));
  rows.push_back(Value(decentralized + ".overlap", WEFT_AT(strategy.decentralized.overlap),
                       "τ: what is sent in an iteration is waited for so many iterations later; 0: in the same one.")
                     .Range(0, 64)
                     .OnlyWith(type, {"SGP"}));
  AddSlowMo(rows, decentralized, WEFT_AT(strategy.decentralized.slow), "Taken every slowPeriod.", {"DPSGD", "SGP"});
  rows.push_back(Value(decentralized + ".slowPeriod", WEFT_AT(strategy.decentralized.slow_period),
                       "Iterations between two of SlowMo's outer steps.")
                     .Range(1, 1'000'000)
                     .OnlyWith(type, {"DPSGD", "SGP"}));
}

}  // namespace weft
