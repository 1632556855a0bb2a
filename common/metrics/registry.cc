#include "common/metrics/registry.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <charconv>
#include <map>
#include <string_view>
#include <utility>

#include "common/check.h"

namespace weft {
namespace {

std::string Folded(std::string_view label, const std::string& value) {
  const int limit = label == "group" ? kMaximumGroupLabels : label == "slot" ? kMaximumSlotLabels : 0;
  if (limit == 0) return value;
  int number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool kept = error == std::errc() && end == value.data() + value.size() && number >= 0 && number < limit;
  return kept ? value : "other";
}

std::map<std::string, std::string> LabelsOf(const MetricInfo& metric, MetricType type,
                                            std::initializer_list<std::string> values) {
  WEFT_CHECK(metric.type == type) << metric.name << " is a " << MetricTypeName(metric.type);
  WEFT_CHECK(metric.labels.size() == values.size()) << metric.name << " has " << metric.labels.size() << " labels";
  std::map<std::string, std::string> labels;
  auto label = metric.labels.begin();
  for (const std::string& value : values) {
    labels[*label] = Folded(*label, value);
    ++label;
  }
  return labels;
}

}  // namespace

void Counter::Increment(double by) { counter_->Increment(by); }
double Counter::value() const { return counter_->Value(); }
void Gauge::Set(double value) { gauge_->Set(value); }
void Gauge::Add(double by) { gauge_->Increment(by); }
double Gauge::value() const { return gauge_->Value(); }
void Histogram::Observe(double value) { histogram_->Observe(value); }

MetricsRegistry::MetricsRegistry(std::string training_job)
    : training_job_(std::move(training_job)), registry_(std::make_shared<prometheus::Registry>()) {}

MetricsRegistry::~MetricsRegistry() = default;

Counter MetricsRegistry::MakeCounter(const MetricInfo& metric, std::initializer_list<std::string> label_values) {
  const auto labels = LabelsOf(metric, MetricType::kCounter, label_values);
  auto& family = prometheus::BuildCounter()
                     .Name(metric.name)
                     .Help(metric.help)
                     .Labels({{"training_job", training_job_}})
                     .Register(*registry_);
  return Counter(family.Add(labels));
}

Gauge MetricsRegistry::MakeGauge(const MetricInfo& metric, std::initializer_list<std::string> label_values) {
  const auto labels = LabelsOf(metric, MetricType::kGauge, label_values);
  auto& family = prometheus::BuildGauge()
                     .Name(metric.name)
                     .Help(metric.help)
                     .Labels({{"training_job", training_job_}})
                     .Register(*registry_);
  return Gauge(family.Add(labels));
}

Histogram MetricsRegistry::MakeHistogram(const MetricInfo& metric, std::initializer_list<std::string> label_values) {
  const auto labels = LabelsOf(metric, MetricType::kHistogram, label_values);
  auto& family = prometheus::BuildHistogram()
                     .Name(metric.name)
                     .Help(metric.help)
                     .Labels({{"training_job", training_job_}})
                     .Register(*registry_);
  return Histogram(family.Add(labels, metric.buckets));
}

}  // namespace weft
