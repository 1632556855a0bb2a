// The metrics of one process. Handles are small values to be made once and kept: setting one is an atomic operation (a
// histogram takes an uncontended lock), making one looks up a series.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "common/metrics/names.h"

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
class Registry;
}  // namespace prometheus

namespace weft {

// Thread-safe; valid as long as their registry.
class Counter {
 public:
  void Increment(double by = 1);  // by >= 0
  double value() const;

 private:
  friend class MetricsRegistry;
  explicit Counter(prometheus::Counter& counter) : counter_(&counter) {}
  prometheus::Counter* counter_;
};

class Gauge {
 public:
  void Set(double value);
  void Add(double by);
  double value() const;

 private:
  friend class MetricsRegistry;
  explicit Gauge(prometheus::Gauge& gauge) : gauge_(&gauge) {}
  prometheus::Gauge* gauge_;
};

class Histogram {
 public:
  void Observe(double value);

 private:
  friend class MetricsRegistry;
  explicit Histogram(prometheus::Histogram& histogram) : histogram_(&histogram) {}
  prometheus::Histogram* histogram_;
};

// Thread-safe. One may be asked for the same series many times; it is one series.
class MetricsRegistry {
 public:
  // `training_job` labels every series.
  explicit MetricsRegistry(std::string training_job);
  ~MetricsRegistry();

  // `label_values` in the order of the metric's labels. A "group" of kMaximumGroupLabels or above and a "slot" of
  // kMaximumSlotLabels or above become "other". Checked: the metric's type, and as many values as labels.
  Counter MakeCounter(const MetricInfo& metric, std::initializer_list<std::string> label_values = {});
  Gauge MakeGauge(const MetricInfo& metric, std::initializer_list<std::string> label_values = {});
  Histogram MakeHistogram(const MetricInfo& metric, std::initializer_list<std::string> label_values = {});

 private:
  friend class MetricsExporter;
  const std::string training_job_;
  const std::shared_ptr<prometheus::Registry> registry_;
};

}  // namespace weft
