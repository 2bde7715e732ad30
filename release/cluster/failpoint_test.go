//go:build failpoint

package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toa.io/toa/internal/failpoint"
	"toa.io/toa/release"
)

// struck makes a release in a child that is told what to do at a point, and says
// by which points it came.
func (b *bed) struck(order release.Order, script string) (last release.Message, trace string) {
	b.Helper()
	log := filepath.Join(b.TempDir(), "trace")
	c := b.spawn(order, failpoint.Variable+"="+script, failpoint.TraceVariable+"="+log)
	last = c.end()
	text, err := os.ReadFile(log)
	if err != nil {
		b.Fatal(err)
	}
	return last, string(text)
}

// Whatever happens to a release between two of its writes, the next one lands, and
// what is then in the cluster is what it released and nothing else.
func TestStruckAtEachPoint(t *testing.T) {
	t.Parallel()
	for _, point := range []failpoint.Name{
		failpoint.LeaseTaken, failpoint.RecordCreate, failpoint.ObjectWrite, failpoint.RecordUpdate, failpoint.HelmApplied,
	} {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			b.apply(b.generation(0))
			for i, action := range []string{"error", "panic", "kill", "error@2", "panic@2", "kill@2"} {
				last, trace := b.struck(b.generation(2*i+1), string(point)+"="+action)
				if !strings.Contains(trace, string(point)) {
					t.Fatalf("%s: the release does not come by it:\n%s", action, trace)
				}
				if last.Result != nil && !strings.HasSuffix(action, "@2") && point != failpoint.RecordUpdate {
					t.Errorf("%s: the release landed: %+v", action, last.Result)
				}
				b.apply(b.generation(2*i + 2))
				b.wantGeneration(2*i + 2)
			}
		})
	}
}
