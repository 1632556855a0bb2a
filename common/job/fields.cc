#include "common/job/fields.h"

#include <map>

#include "common/check.h"
#include "common/job/field_rows.h"

namespace weft {
namespace {

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
  rows.push_back(Value("spec.model.replay.slowWorker", WEFT_AT(model.replay_slow_worker),
                       "How many times as long worker 0 sleeps: a machine slower than the others.")
                     .Range(1, 1000));
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
                       "Seconds from one checkpoint to the next; 0: only when the run is stopped.")
                     .Range(0, 604'800));
  rows.push_back(
      Value("spec.checkpoint.keep", WEFT_AT(checkpoint.keep), "How many are kept, the newest.").Range(1, 1000));
  rows.push_back(Object("spec.output", "Where results go."));
  rows.push_back(
      Value("spec.output.path", WEFT_AT(output_path), "The folder in which each run makes a directory of its own.")
          .Length(1, kMaxPathLength));
  rows.push_back(Map("spec.output.volume", "Any volume source, mounted at the path.").ClusterOnly());
  rows.push_back(Object("spec.network", "How ranks reach each other."));
  rows.push_back(Enum("spec.network.transport", WEFT_AT(network.transport), {"Auto", "TCP", "RDMA"},
                      "What carries the messages. `Auto`: shared memory between ranks on one machine. `TCP`: also "
                      "there, to measure what a network costs. `RDMA`: UCX over the machine's RDMA device."));
  rows.push_back(Value("spec.network.interface", WEFT_AT(network.interface),
                       "The network interface that TCP uses; empty: the loopback interface for ranks on one machine, "
                       "any between machines.")
                     .Length(0, 15)
                     .Default("\"\""));
  rows.push_back(Value("spec.network.peerTimeoutSeconds", WEFT_AT(network.peer_timeout_seconds),
                       "Seconds that a rank waits for another before the run ends with its name.")
                     .Range(1, 3600));
  rows.push_back(Value("spec.network.exchangeTimeoutSeconds", WEFT_AT(network.exchange_timeout_seconds),
                       "Seconds that an asynchronous exchange (Swarm, ADPSGD, SGP) is waited for before it is skipped.")
                     .Above(0)
                     .AtMost(3600));
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
