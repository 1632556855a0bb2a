#include "common/job/fields.h"

#include <concepts>
#include <limits>
#include <map>
#include <sstream>
#include <type_traits>

#include "common/check.h"

namespace weft {
namespace {

constexpr std::int64_t kMaxPathLength = 4096;

// The place of a field in a JobSpec, const or not.
#define WEFT_AT(member) [](auto& spec) -> auto& { return spec.member; }

template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <typename T>
std::string ToText(const T& value) {
  std::ostringstream out;
  if constexpr (std::same_as<T, bool>) {
    out << (value ? "true" : "false");
  } else {
    out << value;
  }
  return out.str();
}
std::string ToText(const std::string& value) { return value.empty() ? "" : value; }
template <typename T>
std::string ToText(const std::optional<T>& value) {
  return value ? ToText(*value) : "";
}
template <typename T>
std::string ToText(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "" : ", ") + ToText(value);
  return values.empty() ? "" : "[" + text + "]";
}

// A line of the table in the making. Each method returns the row, so that a line reads as a sentence.
struct Row {
  Field field;

  Row Range(double minimum, double maximum) && {
    field.minimum = minimum;
    field.maximum = maximum;
    return std::move(*this);
  }
  Row AtLeast(double minimum) && {
    field.minimum = minimum;
    return std::move(*this);
  }
  Row Above(double minimum) && {
    field.minimum = minimum;
    field.minimum_excluded = true;
    return std::move(*this);
  }
  Row AtMost(double maximum) && {
    field.maximum = maximum;
    return std::move(*this);
  }
  Row Below(double maximum) && {
    field.maximum = maximum;
    field.maximum_excluded = true;
    return std::move(*this);
  }
  Row Length(std::int64_t minimum, std::int64_t maximum) && {
    field.min_length = minimum;
    field.max_length = maximum;
    return std::move(*this);
  }
  Row Required() && {
    field.required = true;
    field.default_text.clear();
    return std::move(*this);
  }
  Row ClusterOnly() && {
    field.cluster_only = true;
    return std::move(*this);
  }
  Row OnlyWith(std::string selector, std::vector<std::string> values) && {
    field.only_with = {std::move(selector), std::move(values)};
    return std::move(*this);
  }
  Row Default(std::string text) && {
    field.default_text = std::move(text);
    return std::move(*this);
  }
};

Row Plain(FieldType type, std::string path, std::string doc) {
  Row row;
  row.field.path = std::move(path);
  row.field.type = type;
  row.field.doc = std::move(doc);
  return row;
}

Row Object(std::string path, std::string doc) { return Plain(FieldType::kObject, std::move(path), std::move(doc)); }
Row Map(std::string path, std::string doc) { return Plain(FieldType::kMap, std::move(path), std::move(doc)); }
Row List(std::string path, std::string doc) { return Plain(FieldType::kList, std::move(path), std::move(doc)); }

// A scalar or list that the spec keeps at `at`: its type says the field's, its value in JobSpec{} is the default.
template <typename At>
Row Value(std::string path, At at, std::string doc) {
  using Member = std::remove_cvref_t<decltype(at(std::declval<JobSpec&>()))>;
  static const JobSpec kDefaults;
  Row row = Plain(FieldType::kObject, std::move(path), std::move(doc));
  Field& field = row.field;
  field.default_text = ToText(at(kDefaults));
  if constexpr (std::same_as<Member, bool>) {
    field.type = FieldType::kBool;
    field.set = [at](JobSpec& spec, const FieldValue& value) { at(spec) = std::get<bool>(value); };
  } else if constexpr (std::integral<Member>) {
    field.type = FieldType::kInteger;
    if constexpr (sizeof(Member) < sizeof(std::int64_t)) {
      field.maximum = static_cast<double>(std::numeric_limits<Member>::max());
    }
    field.set = [at](JobSpec& spec, const FieldValue& value) {
      at(spec) = static_cast<Member>(std::get<std::int64_t>(value));
    };
  } else if constexpr (std::same_as<Member, double> || std::same_as<Member, std::optional<double>>) {
    field.type = FieldType::kNumber;
    field.set = [at](JobSpec& spec, const FieldValue& value) { at(spec) = std::get<double>(value); };
  } else if constexpr (std::same_as<Member, std::string>) {
    field.type = FieldType::kString;
    field.max_length = kMaxPathLength;
    field.set = [at](JobSpec& spec, const FieldValue& value) { at(spec) = std::get<std::string>(value); };
  } else if constexpr (std::same_as<Member, std::vector<double>>) {
    field.type = FieldType::kNumbers;
    field.set = [at](JobSpec& spec, const FieldValue& value) { at(spec) = std::get<std::vector<double>>(value); };
  } else {
    static_assert(std::same_as<Member, std::vector<int>>);
    field.type = FieldType::kIntegers;
    field.set = [at](JobSpec& spec, const FieldValue& value) {
      at(spec).clear();
      for (const std::int64_t item : std::get<std::vector<std::int64_t>>(value)) {
        at(spec).push_back(static_cast<int>(item));
      }
    };
  }
  return row;
}

// `choices` in the order of the enum's values.
template <typename At>
Row Enum(std::string path, At at, std::vector<std::string> choices, std::string doc) {
  using Member = std::remove_cvref_t<decltype(at(std::declval<JobSpec&>()))>;
  static const JobSpec kDefaults;
  Row row = Plain(FieldType::kEnum, std::move(path), std::move(doc));
  row.field.default_text = choices.at(static_cast<std::size_t>(at(kDefaults)));
  row.field.choices = std::move(choices);
  row.field.set = [at](JobSpec& spec, const FieldValue& value) {
    at(spec) = static_cast<Member>(std::get<std::int64_t>(value));
  };
  return row;
}

// One that the spec does not keep.
Row FreeEnum(std::string path, std::vector<std::string> choices, std::string doc) {
  Row row = Plain(FieldType::kEnum, std::move(path), std::move(doc));
  row.field.choices = std::move(choices);
  return row;
}
Row FreeString(std::string path, std::int64_t max_length, std::string doc) {
  Row row = Plain(FieldType::kString, std::move(path), std::move(doc));
  row.field.max_length = max_length;
  return row;
}
Row FreeInteger(std::string path, std::string doc) {
  return Plain(FieldType::kInteger, std::move(path), std::move(doc));
}
Row FreeBool(std::string path, std::string doc) { return Plain(FieldType::kBool, std::move(path), std::move(doc)); }

// The overlay graph of a strategy whose nodes average with neighbours, at `path`.
template <typename AtType, typename AtDegree, typename AtEdges>
void AddTopology(std::vector<Row>& rows, const std::string& path, AtType at_type, AtDegree at_degree,
                 AtEdges at_edges) {
  const std::string type = path + ".type";
  rows.push_back(Object(path, "Which nodes are neighbours."));
  rows.push_back(Enum(type, at_type,
                      {"Complete", "Ring", "Torus", "Hypercube", "RandomRegular", "Dragonfly", "EdgeList"},
                      "The graph's kind."));
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

void AddHead(std::vector<Row>& rows) {
  rows.push_back(FreeEnum("apiVersion", {"weft.dev/v1alpha1"}, "The format's version.").Required());
  rows.push_back(FreeEnum("kind", {"TrainingJob"}, "The kind of object.").Required());
  rows.push_back(Object("metadata", "As of any Kubernetes object; outside a cluster only the name has a meaning."));
  rows.push_back(Value("metadata.name", WEFT_AT(name),
                       "The job's name: lower-case letters, digits and `-`, a letter or digit at both ends. At most 43 "
                       "characters, so that the longest name of a pod fits into 63.")
                     .Length(1, 43)
                     .Required());
  rows.push_back(FreeString("metadata.namespace", 63, "The namespace.").ClusterOnly());
  rows.push_back(Map("metadata.labels", "Labels.").ClusterOnly());
  rows.push_back(Map("metadata.annotations", "Annotations.").ClusterOnly());
  // What `kubectl get -o yaml` prints, so that its output can be run.
  rows.push_back(FreeString("metadata.uid", 64, "Set by the cluster.").ClusterOnly());
  rows.push_back(FreeString("metadata.resourceVersion", 64, "Set by the cluster.").ClusterOnly());
  rows.push_back(FreeString("metadata.creationTimestamp", 64, "Set by the cluster.").ClusterOnly());
  rows.push_back(FreeInteger("metadata.generation", "Set by the cluster.").ClusterOnly());
  rows.push_back(List("metadata.finalizers", "Set by the cluster.").ClusterOnly());
  rows.push_back(List("metadata.ownerReferences", "Set by the cluster.").ClusterOnly());
  rows.push_back(List("metadata.managedFields", "Set by the cluster.").ClusterOnly());
  rows.push_back(Map("status", "Set by the cluster.").ClusterOnly());
  rows.push_back(Object("spec", "What is asked for.").Required());
  rows.push_back(FreeBool("spec.suspend", "Stops the job, keeping a checkpoint, until it is false again.")
                     .Default("false")
                     .ClusterOnly());
  rows.push_back(FreeEnum("spec.managedBy", {"weft.dev/operator", "kueue.x-k8s.io/multikueue"},
                          "Which controller carries the job out. Immutable.")
                     .Default("weft.dev/operator")
                     .ClusterOnly());
  rows.push_back(FreeString("spec.image", 1024, "The image of all pods.").Default("(the chart's)").ClusterOnly());
}

void AddStrategy(std::vector<Row>& rows) {
  const std::string type = "spec.strategy.type";
  rows.push_back(Object("spec.strategy", "How the workers learn from each other."));
  rows.push_back(Enum(type, WEFT_AT(strategy.type),
                      {"Auto", "InterleavedPS", "MergedPS", "BulkSynchronousPS", "Swarm", "AllReduce", "LocalSGD",
                       "DPSGD", "ADPSGD", "SGP"},
                      "The strategy. `InterleavedPS`: parameter servers, transfers staggered over iterations and "
                      "workers, elastic averaging. `MergedPS`: synchronous SGD, layers merged into groups. "
                      "`BulkSynchronousPS`: the same layer by layer. `Auto`: at present `InterleavedPS`."));
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
  rows.push_back(Object(swarm + ".quantization", "How models are sent."));
  rows.push_back(Value(swarm + ".quantization.bits", WEFT_AT(strategy.swarm.quantization_bits),
                       "Bits a weight, 2 to 16; 0: float32.")
                     .Range(0, 16));
  rows.push_back(Value(swarm + ".quantization.rotation", WEFT_AT(strategy.swarm.quantization_rotation),
                       "Whether blocks are rotated before they are quantized."));

  const std::string local = "spec.strategy.localSGD";
  rows.push_back(Object(local, "Of LocalSGD.").OnlyWith(type, {"LocalSGD"}));
  rows.push_back(Value(local + ".localSteps", WEFT_AT(strategy.local_sgd.local_steps), "Steps between two averagings.")
                     .Range(1, 1'000'000));
  rows.push_back(Value(local + ".slowMomentum", WEFT_AT(strategy.local_sgd.slow.momentum),
                       "Momentum of the outer step; 0: plain averaging.")
                     .AtLeast(0)
                     .Below(1));

  const std::string decentralized = "spec.strategy.decentralized";
  rows.push_back(Object(decentralized, "Of DPSGD, ADPSGD and SGP.").OnlyWith(type, {"DPSGD", "ADPSGD", "SGP"}));
  AddTopology(rows, decentralized + ".topology", WEFT_AT(strategy.decentralized.topology.type),
              WEFT_AT(strategy.decentralized.topology.degree), WEFT_AT(strategy.decentralized.topology.edges));
}

void AddModelAndData(std::vector<Row>& rows) {
  const std::string name = "spec.model.name";
  rows.push_back(Object("spec.model", "What is trained."));
  rows.push_back(Enum(name, WEFT_AT(model.name), {"mlp", "lenet", "resnet20", "transformer", "replay"},
                      "The model. `transformer` is a decoder over bytes. `replay` computes nothing: it sleeps as long "
                      "as a timeline says.")
                     .Required());
  rows.push_back(Object("spec.model.mlp", "Of mlp.").OnlyWith(name, {"mlp"}));
  rows.push_back(Value("spec.model.mlp.hiddenSizes", WEFT_AT(model.hidden_sizes), "Widths of the hidden layers.")
                     .Range(1, 65'536)
                     .Length(0, 64));
  rows.push_back(Object("spec.model.transformer", "Of transformer.").OnlyWith(name, {"transformer"}));
  rows.push_back(Value("spec.model.transformer.layers", WEFT_AT(model.transformer_layers), "Blocks.").Range(1, 128));
  rows.push_back(Value("spec.model.transformer.width", WEFT_AT(model.transformer_width),
                       "Width of the residual stream, a multiple of heads.")
                     .Range(1, 16'384));
  rows.push_back(
      Value("spec.model.transformer.heads", WEFT_AT(model.transformer_heads), "Heads of attention.").Range(1, 256));
  rows.push_back(Value("spec.model.transformer.context", WEFT_AT(model.transformer_context), "Bytes of text a sample.")
                     .Range(1, 65'536));
  rows.push_back(Object("spec.model.replay", "Of replay, which needs it.").OnlyWith(name, {"replay"}));
  rows.push_back(Value("spec.model.replay.timeline", WEFT_AT(model.replay_timeline),
                       "A timeline file: sizes and times of the layers, as `weft plan` takes it.")
                     .Length(1, kMaxPathLength));
  rows.push_back(Value("spec.model.initialWeights", WEFT_AT(model.initial_weights), "A safetensors file to start from.")
                     .Length(1, kMaxPathLength)
                     .Default("(drawn from the seed)"));

  const std::string format = "spec.data.format";
  rows.push_back(Object("spec.data", "What it learns from."));
  rows.push_back(Enum(format, WEFT_AT(data.format), {"IDX", "CIFAR10", "Text", "Synthetic"},
                      "The files' format; each may be gzipped. `Text` is for transformer, `Synthetic` for replay, "
                      "which reads no sample.")
                     .Default("(Text for transformer, Synthetic for replay, else IDX)"));
  rows.push_back(Value("spec.data.path", WEFT_AT(data.path),
                       "The folder that holds the files; for `Text` a file or a folder. Needed but for `Synthetic`.")
                     .Length(1, kMaxPathLength)
                     .OnlyWith(format, {"IDX", "CIFAR10", "Text"}));
  rows.push_back(Object("spec.data.partition", "How samples are dealt to the workers."));
  rows.push_back(Enum("spec.data.partition.type", WEFT_AT(data.partition), {"IID", "LabelSkew"},
                      "`IID`: at random, anew each epoch. `LabelSkew`: each worker sees few labels."));
  rows.push_back(Object("spec.data.synthetic", "Of Synthetic.").OnlyWith(format, {"Synthetic"}));
  rows.push_back(
      Value("spec.data.synthetic.samples", WEFT_AT(data.synthetic_samples), "Samples an epoch.").Range(1, 1e12));
  rows.push_back(Map("spec.data.volume", "Any volume source, mounted read-only at the path.").ClusterOnly());
}

void AddTraining(std::vector<Row>& rows) {
  const std::string optimizer = "spec.training.optimizer";
  const std::string schedule = "spec.training.schedule";
  rows.push_back(Object("spec.training", "How it learns."));
  rows.push_back(Value("spec.training.epochs", WEFT_AT(training.epochs), "Passes over the data.").Range(1, 1'000'000));
  rows.push_back(Value("spec.training.iterations", WEFT_AT(training.iterations),
                       "Ends after so many iterations, if epochs have not ended it; 0: epochs decide.")
                     .Range(0, 1e12));
  rows.push_back(Value("spec.training.batchSizePerWorker", WEFT_AT(training.batch_size_per_worker),
                       "Samples a worker takes an iteration.")
                     .Range(1, 1'000'000));
  rows.push_back(Value("spec.training.seed", WEFT_AT(training.seed),
                       "Of the weights and of the order of samples. The same plan and seed give the same bits.")
                     .AtLeast(0));
  rows.push_back(Object(optimizer, "The step that a worker takes."));
  rows.push_back(Enum(optimizer + ".type", WEFT_AT(training.optimizer.type), {"SGD", "AdamW"}, "The rule."));
  rows.push_back(
      Value(optimizer + ".learningRate", WEFT_AT(training.optimizer.learning_rate), "The learning rate.").Above(0));
  rows.push_back(Value(optimizer + ".momentum", WEFT_AT(training.optimizer.momentum), "Momentum.")
                     .AtLeast(0)
                     .Below(1)
                     .OnlyWith(optimizer + ".type", {"SGD"}));
  rows.push_back(
      Value(optimizer + ".weightDecay", WEFT_AT(training.optimizer.weight_decay), "Weight decay.").Range(0, 1));
  rows.push_back(Value(optimizer + ".beta1", WEFT_AT(training.optimizer.beta1), "Decay of the mean gradient.")
                     .AtLeast(0)
                     .Below(1)
                     .OnlyWith(optimizer + ".type", {"AdamW"}));
  rows.push_back(Value(optimizer + ".beta2", WEFT_AT(training.optimizer.beta2), "Decay of the mean squared gradient.")
                     .AtLeast(0)
                     .Below(1)
                     .OnlyWith(optimizer + ".type", {"AdamW"}));
  rows.push_back(Value(optimizer + ".epsilon", WEFT_AT(training.optimizer.epsilon), "Added to the denominator.")
                     .Above(0)
                     .OnlyWith(optimizer + ".type", {"AdamW"}));
  rows.push_back(Object(schedule, "How the learning rate changes."));
  rows.push_back(Enum(schedule + ".type", WEFT_AT(training.schedule.type), {"Constant", "Step", "Cosine"},
                      "`Cosine` falls to 0 at the last epoch's end."));
  rows.push_back(Value(schedule + ".warmupEpochs", WEFT_AT(training.schedule.warmup_epochs),
                       "Epochs over which it rises linearly from 0; at most epochs.")
                     .AtLeast(0));
  rows.push_back(Value(schedule + ".stepEpochs", WEFT_AT(training.schedule.step_epochs),
                       "Epochs at which it is multiplied by stepFactor, rising. Needed for `Step`.")
                     .Above(0)
                     .Length(1, 64)
                     .OnlyWith(schedule + ".type", {"Step"}));
  rows.push_back(Value(schedule + ".stepFactor", WEFT_AT(training.schedule.step_factor), "See stepEpochs.")
                     .Above(0)
                     .AtMost(1)
                     .OnlyWith(schedule + ".type", {"Step"}));
  rows.push_back(Value("spec.training.targetAccuracy", WEFT_AT(training.target_accuracy),
                       "Training ends after the first epoch whose test accuracy reaches it.")
                     .Above(0)
                     .AtMost(1));
}

void AddRest(std::vector<Row>& rows) {
  rows.push_back(Object("spec.checkpoint", "What survives an interruption."));
  rows.push_back(Value("spec.checkpoint.intervalSeconds", WEFT_AT(checkpoint.interval_seconds),
                       "Seconds from one checkpoint to the next; 0: only the last.")
                     .Range(0, 604'800));
  rows.push_back(
      Value("spec.checkpoint.keep", WEFT_AT(checkpoint.keep), "How many are kept, the newest.").Range(1, 1000));
  rows.push_back(Object("spec.output", "Where results go."));
  rows.push_back(
      Value("spec.output.path", WEFT_AT(output_path), "The folder in which each run makes a directory of its own.")
          .Length(1, kMaxPathLength));
  rows.push_back(Map("spec.output.volume", "Any volume source, mounted at the path.").ClusterOnly());
  rows.push_back(Object("spec.network", "How ranks reach each other."));
  rows.push_back(Enum("spec.network.transport", WEFT_AT(network.transport), {"Auto", "TCP", "RDMA"}, "The transport."));
  rows.push_back(Value("spec.network.interface", WEFT_AT(network.interface), "The network interface; empty: any.")
                     .Length(0, 15)
                     .Default("\"\""));
  rows.push_back(Value("spec.network.peerTimeoutSeconds", WEFT_AT(network.peer_timeout_seconds),
                       "Seconds that a rank waits for another before the run ends with its name.")
                     .Range(1, 3600));
  rows.push_back(Object("spec.elastic", "How the job follows a change of its size.").ClusterOnly());
  rows.push_back(Value("spec.elastic.waitForReplicasSeconds", WEFT_AT(elastic.wait_for_replicas_seconds),
                       "Seconds to wait for all replicas before minReplicas are enough.")
                     .Range(0, 86'400));
  rows.push_back(
      Value("spec.elastic.cooldownSeconds", WEFT_AT(elastic.cooldown_seconds), "Seconds between two changes of size.")
          .Range(0, 86'400));
  rows.push_back(Object("spec.worker", "The workers."));
  rows.push_back(Value("spec.worker.replicas", WEFT_AT(worker.replicas), "How many workers train.").Range(1, 1024));
  rows.push_back(Value("spec.worker.minReplicas", WEFT_AT(worker.min_replicas), "The fewest that may train.")
                     .Range(1, 1024)
                     .Default("(replicas)"));
  rows.push_back(Value("spec.worker.maxReplicas", WEFT_AT(worker.max_replicas), "The most that may train.")
                     .Range(1, 1024)
                     .Default("(replicas)"));
  rows.push_back(FreeString("spec.worker.sharedMemorySize", 32, "Size of /dev/shm, as a quantity.").ClusterOnly());
  rows.push_back(Map("spec.worker.template", "A pod template; the container named agent is Weft's.").ClusterOnly());
  rows.push_back(Object("spec.server", "The parameter servers."));
  rows.push_back(
      Value("spec.server.replicas", WEFT_AT(server.replicas), "How many there are; the weights are spread over them.")
          .Range(0, 64)
          .Default("(1 with parameter servers, else 0)"));
  rows.push_back(Map("spec.server.template", "A pod template; the container named agent is Weft's.").ClusterOnly());
  rows.push_back(Object("spec.coordinator", "The coordinator.").ClusterOnly());
  rows.push_back(
      Map("spec.coordinator.template", "A pod template; the container named coordinator is Weft's.").ClusterOnly());
  rows.push_back(Object("spec.scheduling", "How pods are placed.").ClusterOnly());
  rows.push_back(Object("spec.scheduling.gang", "Whether pods start together."));
  rows.push_back(FreeEnum("spec.scheduling.gang.type", {"None", "Kueue", "Volcano", "Coscheduling"}, "Who sees to it.")
                     .Default("None"));
  rows.push_back(FreeString("spec.scheduling.priorityClassName", 253, "The pods' priority class.").Default("\"\""));
  rows.push_back(Object("spec.runPolicy", "When the job ends, and what is left of it.").ClusterOnly());
  rows.push_back(
      FreeInteger("spec.runPolicy.backoffLimit", "Failures of pods before the job fails.").Range(0, 1000).Default("6"));
  rows.push_back(
      FreeInteger("spec.runPolicy.activeDeadlineSeconds", "Seconds before the job fails.").Range(1, 2'147'483'647));
  rows.push_back(FreeInteger("spec.runPolicy.ttlSecondsAfterFinished", "Seconds before a finished job is deleted.")
                     .Range(0, 2'147'483'647));
  rows.push_back(
      FreeEnum("spec.runPolicy.cleanPodPolicy", {"None", "Running", "All"}, "Which pods are deleted when the job ends.")
          .Default("Running"));
}

std::vector<Field> MakeFields() {
  std::vector<Row> rows;
  AddHead(rows);
  AddStrategy(rows);
  AddModelAndData(rows);
  AddTraining(rows);
  AddRest(rows);
  std::vector<Field> fields;
  for (Row& row : rows) fields.push_back(std::move(row.field));
  return fields;
}

}  // namespace

const std::vector<Field>& JobFields() {
  static const std::vector<Field> kFields = MakeFields();
  return kFields;
}

const Field* FindField(std::string_view path) {
  static const std::map<std::string_view, const Field*> kByPath = [] {
    std::map<std::string_view, const Field*> by_path;
    for (const Field& field : JobFields()) {
      WEFT_CHECK(by_path.emplace(field.path, &field).second) << field.path << " stands twice in the table";
    }
    return by_path;
  }();
  const auto it = kByPath.find(path);
  return it == kByPath.end() ? nullptr : it->second;
}

std::string_view DisplayPath(std::string_view path) {
  constexpr std::string_view kPrefix = "spec.";
  return path.starts_with(kPrefix) ? path.substr(kPrefix.size()) : path;
}

}  // namespace weft
