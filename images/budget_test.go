package images_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/random"
	"golang.org/x/sync/errgroup"
	"toa.io/toa/images"
	"toa.io/toa/internal/faultproxy"
	"toa.io/toa/orchestrator"
)

// fleet is many images on one base that were published, and of which each has
// one layer that has changed since.
type fleet struct {
	proxy  *faultproxy.Proxy
	bench  *bench
	steps  []orchestrator.Step
	images []*images.Image
}

func newFleet(t *testing.T, size int) *fleet {
	t.Helper()
	reg := newRegistry(t)
	f := &fleet{proxy: faultproxy.Start(reg), bench: newBench(t, t.TempDir())}
	t.Cleanup(f.proxy.Close)
	base, err := random.Image(20_000, 3)
	if err != nil {
		t.Fatal(err)
	}
	pin := reg.push(t, "base:1", amd64(t, base))
	for i := range size {
		before, now := f.step(t, i, "one", pin), f.step(t, i, "two", pin)
		now.Previous = f.bench.publish(t, f.bench.remote, before, f.bench.build(t, before))
		f.steps = append(f.steps, now)
		f.images = append(f.images, f.bench.build(t, now))
	}
	return f
}

func (f *fleet) step(t *testing.T, i int, tag, pin string) orchestrator.Step {
	t.Helper()
	dirs := map[string]string{"a": files{"index.js": fmt.Sprint(i, tag)}.write(t, t.TempDir())}
	s := step(t, f.proxy.Host+"/"+f.repository(i), tag, dirs)
	s.Recipe.Base, s.Recipe.Digests = f.proxy.Host+"/base:1", []string{pin}
	return s
}

func (f *fleet) repository(i int) string { return fmt.Sprint("shop/composition-", i) }

// publish is what a run does: it looks all tags up, then publishes four images
// at a time.
func (f *fleet) publish(t *testing.T) {
	t.Helper()
	to := newRun(f.bench)
	each := func(limit int, do func(i int) error) {
		var group errgroup.Group
		group.SetLimit(limit)
		for i := range f.steps {
			group.Go(func() error { return do(i) })
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	each(16, func(i int) error {
		_, _ = to.Has(t.Context(), f.steps[i].Reference) // it is not there
		return to.Prepare(t.Context(), f.steps[i])
	})
	each(4, func(i int) error {
		_, err := to.Publish(t.Context(), f.steps[i], f.images[i])
		return err
	})
}

// kinds are the requests about a repository, in the order in which they ended.
func (f *fleet) kinds(repository string) []faultproxy.Kind {
	var all []faultproxy.Kind
	for _, r := range f.proxy.Requests(repository) {
		all = append(all, r.Kind)
	}
	return all
}

// The first request for an image is the question for its tag. After it there are
// five at most: two for the layer that has changed, two for the config, which go
// side by side, and the manifest, which is last. So it is for one and for many,
// and there is no request about anything else.
func TestSixRequestsAnImage(t *testing.T) {
	for _, size := range []int{1, 5} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			f := newFleet(t, size)
			known := make([]int, size)
			for i := range known {
				known[i] = len(f.kinds(f.repository(i)))
			}
			before := len(f.proxy.Requests(""))
			f.publish(t)
			same(t, "requests in all", len(f.proxy.Requests(""))-before, 6*size)
			for i, s := range f.steps {
				sent := f.kinds(f.repository(i))[known[i]:]
				if len(sent) == 6 {
					slices.Sort(sent[1:5])
				}
				same(t, s.Reference.Repository, sent, []faultproxy.Kind{
					faultproxy.HeadManifest, faultproxy.Post, faultproxy.Post,
					faultproxy.PutBlob, faultproxy.PutBlob, faultproxy.PutManifest,
				})
			}
			for i, s := range f.steps {
				if digest, err := newRun(f.bench).Has(t.Context(), s.Reference); err != nil || digest != f.images[i].Digest() {
					t.Errorf("%s: %s, %v", s.Reference, digest, err)
				}
			}
		})
	}
}
