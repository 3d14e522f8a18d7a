package main

import (
	"context"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
)

// probe makes a call whenever one is due, and measures how long each takes from then on.
type probe struct {
	mutex sync.Mutex
	// pending has, by call, when it was due.
	pending map[int]time.Time
	slowest time.Duration
	calls   int
	failed  int
	cpu     time.Duration
}

// probeResult says what was measured since the last result.
type probeResult struct {
	SlowestMs float64 `json:"slowestMs"`
	Calls     int     `json:"calls"`
	Failed    int     `json:"failed"`
	CpuMs     float64 `json:"cpuMs"`
}

func startProbe(channel *grpc.ClientConn, intervalMs int) *probe {
	p := &probe{pending: map[int]time.Time{}, cpu: cpuTime()}
	go p.run(testgrpc.NewTestServiceClient(channel), time.Duration(intervalMs)*time.Millisecond)
	return p
}

func (p *probe) run(stub testgrpc.TestServiceClient, interval time.Duration) {
	due := time.Now()
	for number := 0; ; number++ {
		due = due.Add(interval)
		time.Sleep(time.Until(due))
		p.mutex.Lock()
		p.pending[number] = due
		p.mutex.Unlock()
		go p.call(stub, number)
	}
}

func (p *probe) call(stub testgrpc.TestServiceClient, number int) {
	_, err := stub.EmptyCall(context.Background(), &testgrpc.Empty{}, grpc.WaitForReady(true))
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.calls++
	if err != nil {
		p.failed++
	}
	p.slowest = max(p.slowest, time.Since(p.pending[number]))
	delete(p.pending, number)
}

// measured returns the result, and begins the next one.
func (p *probe) measured() probeResult {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, due := range p.pending {
		p.slowest = max(p.slowest, time.Since(due))
	}
	now := cpuTime()
	result := probeResult{milliseconds(p.slowest), p.calls, p.failed, milliseconds(now - p.cpu)}
	p.slowest, p.calls, p.failed, p.cpu = 0, 0, 0, now
	return result
}

func milliseconds(duration time.Duration) float64 {
	return float64(duration) / float64(time.Millisecond)
}

// cpuTime returns the CPU time of the process.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
