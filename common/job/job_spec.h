// TrainingJob (apiVersion weft.dev/v1alpha1): what a person asks for. One format for a laptop and a cluster.
// Values after defaulting; `Parse` (common/job/parse.h) makes them from YAML and refuses what can't work. Each field
// gives its path in the file where the name alone does not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/math/topology.h"
#include "common/plan/plan.h"

namespace weft {

struct ParameterServerSpec {
  int period = 0;  // T; 0: the planner chooses
  Fusion fusion = Fusion::kOptimal;
  PhaseRule phase = PhaseRule::kFigure;
  WindowRule window = WindowRule::kWholeIteration;
  Tail tail = Tail::kMeasured;
  Apply apply = Apply::kDeadline;
  bool admission = true;               // the server admits one worker at a time per link
  double center_rate = 0.9;            // beta of the averaging
  std::optional<double> elastic_rate;  // alpha; default center_rate / K of the live membership
};

// SlowMo (Wang et al. 2020), worn by a strategy with local steps or gossip: momentum 0 and rate 1 change nothing.
struct SlowMoSpec {
  double momentum = 0;  // .slowMomentum, below 1
  double rate = 1;      // .slowRate
};

struct SwarmSpec {
  TopologySpec topology;
  int local_steps = 4;  // H
  LocalStepsDistribution local_steps_distribution = LocalStepsDistribution::kConstant;
  std::optional<int> max_lead;  // iterations ahead of a neighbour; 0: any number; default 8 H with LabelSkew, else 0
  int quantization_bits = 8;    // 2..16; 0: off
  bool quantization_rotation = false;
  SlowMoSpec slow;  // at each localSteps
};
struct LocalSGDSpec {
  int local_steps = 4;
  SlowMoSpec slow;  // at each averaging
};
struct DecentralizedSpec {
  TopologySpec topology{.type = TopologyType::kRing, .degree = 0, .edges = {}};
  CombineOrder order = CombineOrder::kCombineThenAdapt;  // DPSGD
  int overlap = 1;       // SGP's tau: what was sent in iteration t is waited for in t + overlap; 0: in t
  SlowMoSpec slow;       // DPSGD, SGP
  int slow_period = 12;  // .slowPeriod: iterations between two slow steps
};

struct StrategySpec {
  StrategyType type = StrategyType::kAuto;
  // .maxStaleness: Auto takes no strategy in which more iterations lie between two exchanges of the same weight.
  int max_staleness = 8;
  ParameterServerSpec parameter_server;  // for the three PS types (and Auto)
  SwarmSpec swarm;
  bool replan = true;  // when links or computing drift from what the plan was made for
  LocalSGDSpec local_sgd;
  DecentralizedSpec decentralized;
};

enum class ModelType { kMlp, kLenet, kResnet20, kTransformer, kReplay };
struct ModelSpec {
  ModelType name = ModelType::kLenet;
  std::vector<int> hidden_sizes = {1024, 512};  // model.mlp.hiddenSizes
  // model.transformer
  int transformer_layers = 4;     // .layers
  int transformer_width = 128;    // .width, a multiple of heads
  int transformer_heads = 4;      // .heads
  int transformer_context = 128;  // .context: tokens a sample, 8 bits each
  // model.replay
  std::string replay_timeline;    // .timeline: a timeline file; layers sleep as long as it says
  double replay_slow_worker = 1;  // .slowWorker: how many times as long worker 0 sleeps
  std::string initial_weights;    // model.initialWeights: a safetensors file; empty: from the seed
};

enum class DataFormat { kIDX, kCIFAR10, kText, kSynthetic };  // Synthetic: for replay, which reads no sample
enum class PartitionType { kIID, kLabelSkew };
struct DataSpec {
  DataFormat format = DataFormat::kIDX;
  std::string path;                               // a folder; for Text a file or a folder of files
  PartitionType partition = PartitionType::kIID;  // data.partition.type
  std::int64_t synthetic_samples = 60000;         // data.synthetic.samples
};

enum class OptimizerType { kSGD, kAdamW };
struct OptimizerSpec {
  OptimizerType type = OptimizerType::kSGD;
  double learning_rate = 0.05;
  double momentum = 0.9;  // SGD
  double weight_decay = 0.0005;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // AdamW
};

enum class ScheduleType { kConstant, kStep, kCosine };
struct ScheduleSpec {
  ScheduleType type = ScheduleType::kConstant;
  double warmup_epochs = 0;         // linear from 0
  std::vector<double> step_epochs;  // Step: at each, times step_factor
  double step_factor = 0.1;
};

struct TrainingSpec {
  int epochs = 10;
  std::int64_t iterations = 0;  // ends after so many iterations of all; 0: epochs decide
  int batch_size_per_worker = 64;
  std::uint64_t seed = 1;
  OptimizerSpec optimizer;
  ScheduleSpec schedule;
  std::optional<double> target_accuracy;  // stops after the first epoch whose evaluation reaches it
};

struct CheckpointSpec {
  int interval_seconds = 300;  // 0: none but the last
  int keep = 3;
};

enum class TransportType { kAuto, kTCP, kRDMA };
struct NetworkSpec {
  TransportType transport = TransportType::kAuto;
  std::string interface;
  int peer_timeout_seconds = 30;  // how long a rank waits for another before the run ends
  // How long an asynchronous exchange (Swarm, ADPSGD, SGP with overlap) is waited for before it is skipped.
  double exchange_timeout_seconds = 1;
};

struct ElasticSpec {
  int wait_for_replicas_seconds = 120;
  int cooldown_seconds = 60;
};

struct RoleSpec {
  int replicas = 1;
};
struct WorkerSpec {
  int replicas = 1;
  int min_replicas = 1;
  int max_replicas = 1;
};

struct JobSpec {
  std::string name;  // metadata.name
  StrategySpec strategy;
  ModelSpec model;
  DataSpec data;
  TrainingSpec training;
  CheckpointSpec checkpoint;
  std::string output_path = "./runs";
  NetworkSpec network;
  ElasticSpec elastic;
  WorkerSpec worker;
  RoleSpec server;
  // Fields given that have a meaning only on a cluster ("scheduling", "runPolicy", …), to be named in one line.
  std::vector<std::string> unused_here;
};

}  // namespace weft
