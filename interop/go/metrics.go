package main

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/stats/opentelemetry"
)

// observedMetrics reads what a client records.
type observedMetrics struct {
	reader *metric.ManualReader
	option grpc.DialOption
}

// collectedMetric is one metric with all its series.
type collectedMetric struct {
	Name    string            `json:"name"`
	Unit    string            `json:"unit"`
	Kind    string            `json:"kind"`
	Buckets []float64         `json:"buckets"`
	Series  []collectedSeries `json:"series"`
}

// collectedSeries is one series; the value of a histogram is its count.
type collectedSeries struct {
	Labels map[string]string `json:"labels"`
	Value  float64           `json:"value"`
	Sum    float64           `json:"sum"`
}

// observe records these metrics, besides those that are on by default, for the channels that are created from now on.
func observe(metrics, optionalLabels []string) *observedMetrics {
	reader := metric.NewManualReader()
	enabled := opentelemetry.DefaultMetrics().Join(stats.NewMetricSet(metrics...))
	option := opentelemetry.DialOption(opentelemetry.Options{
		MetricsOptions: opentelemetry.MetricsOptions{
			MeterProvider:  metric.NewMeterProvider(metric.WithReader(reader)),
			Metrics:        enabled,
			OptionalLabels: optionalLabels,
		},
	})
	return &observedMetrics{reader, option}
}

func (o *observedMetrics) collect() (answer, error) {
	var collected metricdata.ResourceMetrics
	if err := o.reader.Collect(context.Background(), &collected); err != nil {
		return nil, err
	}
	metrics := []collectedMetric{}
	for _, scope := range collected.ScopeMetrics {
		for _, one := range scope.Metrics {
			result := collectedMetric{Name: one.Name, Unit: one.Unit}
			if err := result.read(one.Data); err != nil {
				return nil, fmt.Errorf("%s: %w", one.Name, err)
			}
			metrics = append(metrics, result)
		}
	}
	return map[string]any{"metrics": metrics}, nil
}

func (m *collectedMetric) read(data metricdata.Aggregation) error {
	switch data := data.(type) {
	case metricdata.Sum[int64]:
		readSum(m, data)
	case metricdata.Sum[float64]:
		readSum(m, data)
	case metricdata.Gauge[int64]:
		m.Kind = "gauge"
		readPoints(m, data.DataPoints)
	case metricdata.Histogram[int64]:
		readHistogram(m, data)
	case metricdata.Histogram[float64]:
		readHistogram(m, data)
	default:
		return fmt.Errorf("%T is not known", data)
	}
	return nil
}

func readSum[N int64 | float64](m *collectedMetric, data metricdata.Sum[N]) {
	m.Kind = "up-down-counter"
	if data.IsMonotonic {
		m.Kind = "counter"
	}
	readPoints(m, data.DataPoints)
}

func readPoints[N int64 | float64](m *collectedMetric, points []metricdata.DataPoint[N]) {
	for _, point := range points {
		series := collectedSeries{Labels: labelsOf(point.Attributes), Value: float64(point.Value)}
		m.Series = append(m.Series, series)
	}
}

func readHistogram[N int64 | float64](m *collectedMetric, data metricdata.Histogram[N]) {
	m.Kind = "histogram"
	for _, point := range data.DataPoints {
		m.Buckets = point.Bounds
		m.Series = append(m.Series, collectedSeries{
			Labels: labelsOf(point.Attributes),
			Value:  float64(point.Count),
			Sum:    float64(point.Sum),
		})
	}
}

func labelsOf(attributes attribute.Set) map[string]string {
	labels := map[string]string{}
	for _, label := range attributes.ToSlice() {
		labels[string(label.Key)] = label.Value.Emit()
	}
	return labels
}
