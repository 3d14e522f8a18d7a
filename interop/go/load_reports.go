package main

import (
	"sync"
	"time"

	loadstats "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/protobuf/types/known/durationpb"
)

// loadInterval is how often clients report.
const loadInterval = 200 * time.Millisecond

// loadReports counts what clients report (LRS), which go-control-plane has no service for.
type loadReports struct {
	mutex   sync.Mutex
	streams int
	// calls has, by cluster, the calls that were issued, ended well and failed.
	calls map[string]callTotals
}

// callTotals are calls that clients have reported.
type callTotals struct {
	Issued    uint64 `json:"issued"`
	Succeeded uint64 `json:"succeeded"`
	Failed    uint64 `json:"failed"`
}

// StreamLoadStats requests the loads of all clusters.
func (l *loadReports) StreamLoadStats(stream loadstats.LoadReportingService_StreamLoadStatsServer) error {
	if _, err := stream.Recv(); err != nil {
		return err
	}
	l.mutex.Lock()
	l.streams++
	l.mutex.Unlock()
	requested := &loadstats.LoadStatsResponse{SendAllClusters: true, LoadReportingInterval: durationpb.New(loadInterval)}
	if err := stream.Send(requested); err != nil {
		return err
	}
	for {
		report, err := stream.Recv()
		if err != nil {
			return err
		}
		l.add(report)
	}
}

func (l *loadReports) add(report *loadstats.LoadStatsRequest) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.calls == nil {
		l.calls = map[string]callTotals{}
	}
	for _, cluster := range report.GetClusterStats() {
		total := l.calls[cluster.GetClusterName()]
		for _, locality := range cluster.GetUpstreamLocalityStats() {
			total.Issued += locality.GetTotalIssuedRequests()
			total.Succeeded += locality.GetTotalSuccessfulRequests()
			total.Failed += locality.GetTotalErrorRequests()
		}
		l.calls[cluster.GetClusterName()] = total
	}
}

// totals returns what was reported so far, and on how many streams.
func (l *loadReports) totals() answer {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	calls := map[string]callTotals{}
	for cluster, total := range l.calls {
		calls[cluster] = total
	}
	return map[string]any{"streams": l.streams, "calls": calls}
}
