package buildkit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"toa.io/toa/images"
	"toa.io/toa/internal/enginetest"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
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

// BenchmarkSharedDependencies builds ten compositions on one dependencies image
// in an engine, one after the other and four at a time: "parallel/serial" is the
// share. "auto/serial" is that of the builder which takes an engine only where
// something runs inside the image.
//
// An engine on a disk waits for it most of the time, about 280 times an image,
// and mostly in one database with one writer; in memory it waits for
// processors alone.
func BenchmarkSharedDependencies(b *testing.B) {
	b.Run("disk", func(b *testing.B) { sharedDependencies(b, enginetest.StartOnDisk(b).Address) })
	b.Run("memory", func(b *testing.B) { sharedDependencies(b, enginetest.Start(b).Address) })
}

func sharedDependencies(b *testing.B, address string) {
	bench := newBenchAt(b, address)
	dependencies := bench.dependencies(b, "one", "echo installed > /composition/installed")
	below := bench.publish(b, bench.builder, dependencies)
	base := bench.composition(b, "base", nil)
	auto := &images.Chooser{Native: bench.native, BuildKit: bench.builder}
	var serial, parallel, chosen time.Duration
	for i := 0; b.Loop(); i++ {
		build := func(with orchestrator.Builder, name string, jobs int) time.Duration {
			steps := compositions(b, on(dependencies, base), fmt.Sprint(name, i))
			return timed(func() { buildAll(b, with, steps, below, jobs) })
		}
		serial += build(bench.builder, "s", 1)
		parallel += build(bench.builder, "p", 4)
		chosen += build(auto, "a", 4)
	}
	b.ReportMetric(parallel.Seconds()/serial.Seconds(), "parallel/serial")
	b.ReportMetric(chosen.Seconds()/serial.Seconds(), "auto/serial")
	b.ReportMetric(parallel.Seconds()/float64(b.N), "s/parallel")
}

// compositions are ten new ones of one member each.
func compositions(t testing.TB, base orchestrator.Step, round string) []orchestrator.Step {
	t.Helper()
	steps := make([]orchestrator.Step, 10)
	for i := range steps {
		name := fmt.Sprintf("%s-%d", round, i)
		dir := files{"manifest.toa.yaml": "name: " + name + "\n", "operations/one.js": name + filler}.write(t, t.TempDir())
		steps[i] = base
		steps[i].Reference.Repository += name
		steps[i].Recipe.Copies = []templates.Copy{{Label: "store-goods"}}
		steps[i].Sources = []orchestrator.Source{source(t, "store-goods", dir)}
	}
	return steps
}

// buildAll builds so many at a time.
func buildAll(t testing.TB, with orchestrator.Builder, steps []orchestrator.Step, below orchestrator.Result, jobs int) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(jobs)
	for _, step := range steps {
		group.Go(func() error {
			_, err := with.Build(t.Context(), step, []orchestrator.Result{below})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}
