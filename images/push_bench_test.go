package images_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/sync/errgroup"
	"toa.io/toa/images"
	"toa.io/toa/internal/faultproxy"
	"toa.io/toa/orchestrator"
)

// fleet is many images on one base that were published, and of which each has
// one layer of 50 KB that has changed since.
type fleet struct {
	proxy  *faultproxy.Proxy
	bench  *bench
	steps  []orchestrator.Step
	images []*images.Image
	peers  []v1.Image
}

func newFleet(t testing.TB, size int) *fleet {
	t.Helper()
	f := &fleet{proxy: faultproxy.Start(newRegistry(t)), bench: newBench(t, t.TempDir())}
	t.Cleanup(f.proxy.Close)
	base, err := random.Image(20_000, 3)
	if err != nil {
		t.Fatal(err)
	}
	config, err := base.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config.OS, config.Architecture = "linux", "amd64"
	if base, err = mutate.ConfigFile(base, config); err != nil {
		t.Fatal(err)
	}
	pin := f.put(t, f.proxy.Host+"/base:1", base)
	for i := range size {
		s := f.step(t, i, "one", pin)
		s.Previous = f.bench.publish(t, f.bench.remote, s, f.bench.build(t, s))
		next := f.step(t, i, "two", pin)
		next.Previous = s.Previous
		f.steps = append(f.steps, next)
		f.images = append(f.images, f.bench.build(t, next))
		f.peers = append(f.peers, f.peer(t, base, i))
	}
	return f
}

func (f *fleet) step(t testing.TB, i int, tag, pin string) orchestrator.Step {
	t.Helper()
	content := make([]byte, 50_000)
	fill(content)
	dirs := map[string]string{"a": files{"index.js": fmt.Sprint(i, tag) + string(content)}.write(t, t.TempDir())}
	s := step(t, fmt.Sprint(f.proxy.Host, "/shop/composition-", i), tag, dirs)
	s.Recipe.Base, s.Recipe.Digests = f.proxy.Host+"/base:1", []string{pin}
	return s
}

// peer is what another program would publish instead.
func (f *fleet) peer(t testing.TB, base v1.Image, i int) v1.Image {
	t.Helper()
	content := make([]byte, 50_000)
	fill(content)
	var last v1.Image
	for _, version := range []string{"one", "two"} {
		data := append([]byte(fmt.Sprint(i, version)), content...)
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
		if err != nil {
			t.Fatal(err)
		}
		if last, err = mutate.AppendLayers(base, layer); err != nil {
			t.Fatal(err)
		}
		if version == "one" {
			f.put(t, fmt.Sprint(f.proxy.Host, "/peer/composition-", i, ":one"), last)
		}
	}
	return last
}

func (f *fleet) put(t testing.TB, reference string, image v1.Image) string {
	t.Helper()
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, image); err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

// ours publishes as a run does: it looks all tags up, then publishes four images
// at a time.
func (f *fleet) ours(ctx context.Context) error {
	to := newRun(f.bench)
	if err := each(ctx, len(f.steps), 16, func(i int) error {
		_, _ = to.Has(ctx, f.steps[i].Reference) // it is not there
		return to.Prepare(ctx, f.steps[i])
	}); err != nil {
		return err
	}
	return each(ctx, len(f.steps), 4, func(i int) error {
		_, err := to.Publish(ctx, f.steps[i], f.images[i])
		return err
	})
}

// theirs publishes with a shared Pusher, four images at a time too.
func (f *fleet) theirs(ctx context.Context) error {
	pusher, err := remote.NewPusher()
	if err != nil {
		return err
	}
	return each(ctx, len(f.peers), 4, func(i int) error {
		ref, err := name.ParseReference(fmt.Sprint(f.proxy.Host, "/peer/composition-", i, ":two"))
		if err != nil {
			return err
		}
		return pusher.Push(ctx, ref, f.peers[i])
	})
}

func each(ctx context.Context, n, limit int, do func(int) error) error {
	group, _ := errgroup.WithContext(ctx)
	group.SetLimit(limit)
	for i := range n {
		group.Go(func() error { return do(i) })
	}
	return group.Wait()
}

// measured is how long something took, and how many requests.
func (f *fleet) measured(t testing.TB, do func(context.Context) error) (time.Duration, int) {
	t.Helper()
	before, began := len(f.proxy.Requests("")), time.Now()
	if err := do(t.Context()); err != nil {
		t.Fatal(err)
	}
	return time.Since(began), len(f.proxy.Requests("")) - before
}

func TestSixRequestsAnImage(t *testing.T) {
	f := newFleet(t, 5)
	if _, requests := f.measured(t, f.ours); requests > 5*6 {
		t.Errorf("%d requests for 5 images, want 30 at most", requests)
	}
	for i, s := range f.steps {
		if digest, err := newRun(f.bench).Has(t.Context(), s.Reference); err != nil || digest != f.images[i].Digest() {
			t.Errorf("%s: %s, %v", s.Reference, digest, err)
		}
	}
}

// BenchmarkHundredImages compares with go-containerregistry's shared Pusher, to
// a registry in this process and to one that is 20 ms away.
func BenchmarkHundredImages(b *testing.B) {
	for name, delay := range map[string]time.Duration{"loopback": 0, "20ms": 20 * time.Millisecond} {
		b.Run(name, func(b *testing.B) {
			var ours, theirs time.Duration
			var sent int
			for b.Loop() {
				b.StopTimer()
				f := newFleet(b, 100)
				f.proxy.Delay(delay)
				b.StartTimer()
				took, requests := f.measured(b, f.ours)
				b.StopTimer()
				ours, sent = ours+took, sent+requests
				took, _ = f.measured(b, f.theirs)
				theirs += took
				b.StartTimer()
			}
			b.ReportMetric(float64(ours)/float64(theirs), "of-pusher")
			b.ReportMetric(float64(theirs.Milliseconds())/float64(b.N), "pusher-ms/op")
			b.ReportMetric(float64(sent)/float64(100*b.N), "requests/image")
		})
	}
}
