package images_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// sourceText is some kilobytes that compress as source code does.
func sourceText(seed uint64) string {
	random := rand.New(rand.NewPCG(seed, 1))
	words := strings.Fields("const let return function async await module exports require input output state reply order basket product price if else for of new Error throw context remote call")
	var text strings.Builder
	for text.Len() < 2000 {
		fmt.Fprintf(&text, "%s %s_%d(%s)\n", words[random.IntN(len(words))], words[random.IntN(len(words))], random.IntN(100), words[random.IntN(len(words))])
	}
	return text.String()
}

// BenchmarkChangedFile is one changed file in a component of 500: the layer
// made and pushed to a registry on this machine.
func BenchmarkChangedFile(b *testing.B) {
	reg := newRegistry(b)
	all := files{}
	for i := range 500 {
		all[fmt.Sprintf("lib/%03d.js", i)] = sourceText(uint64(i))
	}
	dir := all.write(b, b.TempDir())
	bench := newBench(b, b.TempDir())
	previous := ""
	for i := range b.N {
		b.StopTimer()
		files{"lib/250.js": fmt.Sprint("changed ", i)}.write(b, dir)
		s := step(b, reg.host+"/shop/composition-edge", fmt.Sprint("t", i), map[string]string{"a": dir})
		s.Previous = previous
		b.StartTimer()
		previous = bench.publish(b, bench.remote, s, bench.build(b, s))
	}
	b.ReportMetric(float64(bench.remote.Traffic().Bytes)/float64(b.N), "bytes/op")
	b.ReportMetric(float64(bench.remote.Traffic().Requests)/float64(b.N), "requests/op")
}
