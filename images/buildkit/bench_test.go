package buildkit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"toa.io/toa/orchestrator"
)

// BenchmarkOneChangedFile changes one of 500 files and builds the image, in
// turn natively and in an engine. "native/engine" is the share of the time.
func BenchmarkOneChangedFile(b *testing.B) {
	bench := newBench(b)
	dir := b.TempDir()
	set := files{}
	for i := range 500 {
		set[fmt.Sprintf("operations/%d/file%d.js", i%20, i)] = fmt.Sprintf("exports.number = %d\n%s", i, filler)
	}
	set.write(b, dir)
	var natively, engine time.Duration
	for i := 0; b.Loop(); i++ {
		if err := os.WriteFile(filepath.Join(dir, "operations/7/file7.js"), fmt.Appendf(nil, "exports.changed = %d\n", i), 0o600); err != nil {
			b.Fatal(err)
		}
		step := bench.composition(b, "one", map[string]string{"store-goods": dir})
		natively += timed(func() { bench.build(b, bench.native, step) })
		engine += timed(func() { bench.build(b, bench.builder, step) })
	}
	b.ReportMetric(natively.Seconds()/engine.Seconds(), "native/engine")
}

var filler = func() string {
	var text string
	for i := range 60 {
		text += fmt.Sprintf("// line %d of what a source file says\n", i)
	}
	return text
}()

func timed(what func()) time.Duration {
	began := time.Now()
	what()
	return time.Since(began)
}

// BenchmarkSharedDependencies builds ten compositions on one dependencies image,
// one after the other and four at a time. "parallel/serial" is the share.
func BenchmarkSharedDependencies(b *testing.B) {
	bench := newBench(b)
	dependencies := bench.dependencies(b, "one", "echo installed > /composition/installed")
	below := bench.publish(b, bench.builder, dependencies)
	var serial, parallel time.Duration
	for i := 0; b.Loop(); i++ {
		serial += timed(func() { compositions(b, bench, dependencies, below, fmt.Sprintf("s%d", i), 1) })
		parallel += timed(func() { compositions(b, bench, dependencies, below, fmt.Sprintf("p%d", i), 4) })
	}
	b.ReportMetric(parallel.Seconds()/serial.Seconds(), "parallel/serial")
}

// compositions builds ten new ones, so many at a time.
func compositions(b *testing.B, bench *bench, dependencies orchestrator.Step, below orchestrator.Result, round string, jobs int) {
	b.Helper()
	slots := make(chan struct{}, jobs)
	var group sync.WaitGroup
	for i := range 10 {
		name := fmt.Sprintf("%s-%d", round, i)
		dir := files{"manifest.toa.yaml": "name: " + name + "\n", "operations/one.js": name + filler}.write(b, b.TempDir())
		step := on(dependencies, bench.composition(b, name, map[string]string{"store-goods": dir}))
		step.Reference.Repository += name
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if _, err := bench.builder.Build(b.Context(), step, []orchestrator.Result{below}); err != nil {
				b.Error(err)
			}
		})
	}
	group.Wait()
}
