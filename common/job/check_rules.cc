#include "common/job/check_rules.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "common/job/fields.h"
#include "common/math/push_sum.h"
#include "common/math/topology.h"

namespace weft {
namespace {

constexpr char kParameterServer[] = "spec.strategy.parameterServer";

bool HasServers(StrategyType type) { return type == StrategyType::kAuto || UsesParameterServers(type); }

std::string Text(double number) {
  std::ostringstream out;
  out << number;
  return out.str();
}

class RuleChecker {
 public:
  RuleChecker(const FieldReadings& readings, JobSpec* spec, std::vector<JobError>* errors)
      : readings_(readings), spec_(*spec), errors_(*errors) {}

  void Check() {
    FillDefaults();
    CheckUnions();
    CheckName();
    CheckStrategy();
    CheckModelAndData();
    CheckTraining();
    CheckReplicas();
  }

 private:
  void FillDefaults() {
    if (!readings_.Given("spec.data.format")) {
      const ModelType model = spec_.model.name;
      spec_.data.format = model == ModelType::kTransformer ? DataFormat::kText
                          : model == ModelType::kReplay    ? DataFormat::kSynthetic
                                                           : DataFormat::kIDX;
    }
    if (!readings_.Given("spec.worker.minReplicas")) spec_.worker.min_replicas = spec_.worker.replicas;
    if (!readings_.Given("spec.worker.maxReplicas")) spec_.worker.max_replicas = spec_.worker.replicas;
    if (!readings_.Given("spec.server.replicas")) spec_.server.replicas = HasServers(spec_.strategy.type) ? 1 : 0;
  }

  // What the enum at `path` has, given or by default.
  std::string Choice(const std::string& path) const {
    if (const auto it = readings_.choices.find(path); it != readings_.choices.end()) return it->second;
    const Field* field = FindField(path);
    if (path == "spec.data.format") return field->choices.at(static_cast<std::size_t>(spec_.data.format));
    return field->default_text;
  }

  void CheckUnions() {
    std::string refused;  // the last; one line is enough for it and all below it
    for (const auto& [path, line] : readings_.lines) {
      if (!refused.empty() && path.starts_with(refused + ".")) continue;
      const Field* field = FindField(path);
      if (!field->only_with) continue;
      const auto& [selector, values] = *field->only_with;
      if (!readings_.Sound(selector)) continue;
      // The default for a format hangs on the model.
      if (selector == "spec.data.format" && !readings_.Sound("spec.model.name")) continue;
      const std::string choice = Choice(selector);
      if (std::find(values.begin(), values.end(), choice) != values.end()) continue;
      std::string allowed;
      for (const std::string& value : values) allowed += (allowed.empty() ? "" : ", ") + value;
      refused = path;
      // Servers without a strategy for them go into the same line.
      std::string more;
      if (path == kParameterServer && ServersWithoutUse()) {
        more = "; so are servers (server.replicas: " + std::to_string(spec_.server.replicas) + ")";
      }
      Refuse(path, "is only for " + std::string(DisplayPath(selector)) + " " + allowed + ", not " + choice + more);
    }
  }

  void CheckName() {
    if (!Sound({"metadata.name"})) return;
    const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
    const std::string& name = spec_.name;
    if (!std::all_of(name.begin(), name.end(), [&](char c) { return alphanumeric(c) || c == '-'; }) ||
        !alphanumeric(name.front()) || !alphanumeric(name.back())) {
      Refuse("metadata.name", name + " is not lower-case letters, digits and `-` with a letter or digit at both ends");
    }
  }

  void CheckStrategy() {
    if (!Sound({"spec.strategy.type"})) return;
    const StrategySpec& strategy = spec_.strategy;
    const std::string center = "spec.strategy.parameterServer.centerRate";
    const std::string elastic = "spec.strategy.parameterServer.elasticRate";
    if (HasServers(strategy.type) && Sound({center, elastic, "spec.worker.replicas", "spec.worker.minReplicas"})) {
      const double beta = strategy.parameter_server.center_rate;
      // With one worker nothing is exchanged, so two are the fewest that count.
      const int fewest = std::max(2, spec_.worker.min_replicas);
      const double alpha = strategy.parameter_server.elastic_rate.value_or(beta / fewest);
      if (alpha + beta >= 2) {
        Refuse(readings_.Given(elastic) ? elastic : center,
               "elasticRate " + Text(alpha) + " + centerRate " + Text(beta) + " is not below 2, which is unstable");
      }
    }
    if (strategy.type == StrategyType::kSwarm && Sound({"spec.strategy.swarm.quantization.bits"}) &&
        strategy.swarm.quantization_bits == 1) {
      Refuse("spec.strategy.swarm.quantization.bits", "1 is not 0 or 2 to 16");
    }
    switch (strategy.type) {
      case StrategyType::kSwarm:
        return CheckTopology("spec.strategy.swarm", strategy.swarm.topology);
      case StrategyType::kDPSGD:
      case StrategyType::kADPSGD:
      case StrategyType::kSGP:
        return CheckTopology("spec.strategy.decentralized", strategy.decentralized.topology);
      default:
        return;
    }
  }

  // `above` is what holds the topology.
  void CheckTopology(const std::string& above, const TopologySpec& topology) {
    const std::string path = above + ".topology";
    if (!Sound({path + ".type", path + ".degree", path + ".edges"})) return;
    if (topology.type == TopologyType::kRandomRegular && !readings_.Given(path + ".degree")) {
      return Refuse(path + ".degree", "is missing, which type RandomRegular needs");
    }
    if (topology.type == TopologyType::kEdgeList && topology.edges.empty()) {
      return Refuse(path + ".edges", "is missing, which type EdgeList needs");
    }
    if (!Sound({"spec.worker.replicas", "spec.training.seed"})) return;
    const Result<Topology> made = Topology::Make(topology, spec_.worker.replicas, spec_.training.seed);
    Status status = made.status();
    if (made.ok() && spec_.strategy.type == StrategyType::kSGP && spec_.worker.replicas > 1 &&
        Sound({above + ".overlap"})) {
      status = CheckPushSum(*made, spec_.strategy.decentralized.overlap);
    }
    if (status.ok()) return;
    // "topology.edges: what" of `above`.
    const std::string field = above + "." + status.message().substr(0, status.message().find(": "));
    Refuse(field, status.message().substr(status.message().find(": ") + 2));
  }

  void CheckModelAndData() {
    if (!readings_.Given("spec") || !Sound({"spec.model.name"})) return;
    const ModelSpec& model = spec_.model;
    if (model.name == ModelType::kTransformer &&
        Sound({"spec.model.transformer.width", "spec.model.transformer.heads"}) &&
        model.transformer_width % model.transformer_heads != 0) {
      Refuse("spec.model.transformer.width", std::to_string(model.transformer_width) + " is not a multiple of heads " +
                                                 std::to_string(model.transformer_heads));
    }
    if (model.name == ModelType::kReplay && !readings_.Given("spec.model.replay.timeline")) {
      Refuse("spec.model.replay.timeline", "is missing, which model replay needs");
    }
    if (!Sound({"spec.data.format"})) return;
    CheckPair(ModelType::kTransformer, "transformer", DataFormat::kText, "Text");
    CheckPair(ModelType::kReplay, "replay", DataFormat::kSynthetic, "Synthetic");
    if (spec_.data.format != DataFormat::kSynthetic && !readings_.Given("spec.data.path")) {
      Refuse("spec.data.path", "is missing, which format " + Choice("spec.data.format") + " needs");
    }
  }

  // This model reads only this format, and only this model reads it.
  void CheckPair(ModelType model, const std::string& model_name, DataFormat format, const std::string& format_name) {
    if ((spec_.model.name == model) == (spec_.data.format == format)) return;
    Refuse("spec.data.format",
           spec_.model.name == model
               ? Choice("spec.data.format") + " is not " + format_name + ", which model " + model_name + " needs"
               : format_name + " is only for model " + model_name + ", not " + Choice("spec.model.name"));
  }

  void CheckTraining() {
    const TrainingSpec& training = spec_.training;
    const std::string warmup = "spec.training.schedule.warmupEpochs";
    if (Sound({warmup, "spec.training.epochs"}) && training.schedule.warmup_epochs > training.epochs) {
      Refuse(warmup,
             Text(training.schedule.warmup_epochs) + " is above training.epochs " + std::to_string(training.epochs));
    }
    const std::string steps = "spec.training.schedule.stepEpochs";
    if (!Sound({steps, "spec.training.schedule.type"})) return;
    const std::vector<double>& epochs = training.schedule.step_epochs;
    if (training.schedule.type == ScheduleType::kStep && epochs.empty()) {
      Refuse(steps, "is missing, which type Step needs");
    }
    const auto falling = std::adjacent_find(epochs.begin(), epochs.end(), [](double a, double b) { return a >= b; });
    if (falling != epochs.end()) Refuse(steps, Text(falling[1]) + " is not above the one before, " + Text(falling[0]));
  }

  void CheckReplicas() {
    const WorkerSpec& worker = spec_.worker;
    if (Sound({"spec.worker.replicas", "spec.worker.minReplicas"}) && worker.replicas < worker.min_replicas) {
      Refuse("spec.worker.replicas",
             std::to_string(worker.replicas) + " is below worker.minReplicas " + std::to_string(worker.min_replicas));
    }
    if (Sound({"spec.worker.replicas", "spec.worker.maxReplicas"}) && worker.replicas > worker.max_replicas) {
      Refuse("spec.worker.replicas",
             std::to_string(worker.replicas) + " is above worker.maxReplicas " + std::to_string(worker.max_replicas));
    }
    if (!Sound({"spec.strategy.type", "spec.server.replicas"})) return;
    const int servers = spec_.server.replicas;
    const std::string type = Choice("spec.strategy.type");
    if (HasServers(spec_.strategy.type) && servers < 1) {
      Refuse("spec.server.replicas", std::to_string(servers) + " is below 1, which strategy " + type + " needs");
    }
    if (ServersWithoutUse() && !readings_.Given(kParameterServer)) {
      Refuse("spec.server.replicas", std::to_string(servers) + " is above 0, but strategy " + type + " has no servers");
    }
  }

  bool ServersWithoutUse() const {
    return Sound({"spec.strategy.type", "spec.server.replicas"}) && !HasServers(spec_.strategy.type) &&
           spec_.server.replicas > 0;
  }

  bool Sound(const std::vector<std::string>& paths) const {
    return std::all_of(paths.begin(), paths.end(), [&](const std::string& path) { return readings_.Sound(path); });
  }

  void Refuse(const std::string& path, const std::string& what) {
    errors_.push_back({readings_.LineOf(path), std::string(DisplayPath(path)) + ": " + what});
  }

  const FieldReadings& readings_;
  JobSpec& spec_;
  std::vector<JobError>& errors_;
};

}  // namespace

void CheckRules(const FieldReadings& readings, JobSpec* spec, std::vector<JobError>* errors) {
  RuleChecker(readings, spec, errors).Check();
}

}  // namespace weft
