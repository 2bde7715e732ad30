package images_test

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"toa.io/toa/cache"
	"toa.io/toa/images"
)

// machine has an index of its own and shares it.
type machine struct {
	*testing.T
	*images.SharedIndex
	base string
}

func newMachine(t *testing.T, base string) machine {
	t.Helper()
	dir := t.TempDir()
	index := cache.NewIndex(cache.OpenDB(filepath.Join(dir, "db", "index.db"), func(w string) { t.Error("warning:", w) }))
	return machine{t, &images.SharedIndex{Remote: newBench(t, dir).remote, Index: index, Base: base}, base}
}

func (m machine) host() string { host, _, _ := strings.Cut(m.base, "/"); return host }

func imageKey(n int) cache.Key { return cache.Digest(fmt.Append(nil, n)) }

func imageDigest(n int) string { return "sha256:" + imageKey(n).String() }

// publish records the images with these numbers.
func (m machine) publish(from, to int) {
	m.Helper()
	var wait sync.WaitGroup
	for n := from; n < to; n++ {
		wait.Go(func() { // together they cost few commits
			entry := cache.Entry{Digest: imageDigest(n), Platforms: []string{"linux/amd64"}, VerifiedAt: time.Unix(int64(n), 0)}
			name := fmt.Sprintf("composition-%d", n)
			if err := m.Index.Put(m.host(), m.base+"/"+name, imageKey(n), entry, "composition/"+name, nil); err != nil {
				m.Error(err)
			}
		})
	}
	wait.Wait()
}

// knows counts the images with these numbers that the index knows rightly.
func (m machine) knows(from, to int) int {
	m.Helper()
	known := 0
	for n := from; n < to; n++ {
		entry, err := m.Index.Get(m.host(), fmt.Sprintf("%s/composition-%d", m.base, n), imageKey(n))
		if err == nil && entry.Digest != imageDigest(n) {
			m.Errorf("image %d is %s", n, entry.Digest)
		}
		if err == nil {
			known++
		}
	}
	return known
}

func (m machine) write() {
	m.Helper()
	if err := m.Write(m.Context()); err != nil {
		m.Fatal(err)
	}
}

func (m machine) read() {
	m.Helper()
	if err := m.Read(m.Context()); err != nil {
		m.Fatal(err)
	}
}

func TestFreshMachineReadsAThousandImagesInThreeRequests(t *testing.T) {
	reg := newRegistry(t)
	base := reg.host + "/team/shop"
	one := newMachine(t, base)
	one.publish(0, 900)
	one.write()
	one.publish(900, 1000)
	one.write()
	reg.requests()

	two := newMachine(t, base)
	two.read()
	if got := two.knows(0, 1000); got != 1000 {
		t.Errorf("it knows %d of 1000 images", got)
	}
	same(t, "requests", reg.requests(), []string{"GET manifest", "GET blob", "GET blob"})
	two.write()
	same(t, "requests of who has nothing to tell", reg.requests(), []string{"GET manifest"})
	if other := newMachine(t, reg.host+"/team/other"); other.Read(t.Context()) != nil || other.knows(0, 1000) != 0 {
		t.Error("another workspace knows something")
	}
}

func TestShardsAreJoinedWhenTheyHaveGrown(t *testing.T) {
	reg := newRegistry(t)
	base := reg.host + "/team/shop"
	m := newMachine(t, base)
	m.publish(0, 10)
	m.write()
	shards := func() int { return len(manifestAt(t, reg, base+"/index:v1").Layers) }
	for n, want := range []int{2, 2, 1, 2} {
		m.publish(10+n*100, 110+n*100)
		m.write()
		if got := shards(); got != want {
			t.Errorf("after writing %d times: %d shards, want %d", n+2, got, want)
		}
	}
	other := newMachine(t, base)
	other.read()
	if got := other.knows(0, 410); got != 410 {
		t.Errorf("it knows %d of 410 images", got)
	}
}

// Who has read before another wrote writes over what that has written, which
// the other sees and mends.
func TestWriterWhoWasOverwrittenWritesAgain(t *testing.T) {
	reg := newRegistry(t)
	base := reg.host + "/team/shop"
	slow, quick := newMachine(t, base), newMachine(t, base)
	slow.publish(0, 5)
	quick.publish(5, 10)
	quick.Pause = 300 * time.Millisecond
	slow.Pause = time.Millisecond

	hasRead, mayWrite := make(chan struct{}), make(chan struct{})
	var first sync.Once
	reg.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/") {
			first.Do(func() { close(hasRead); <-mayWrite })
		}
		return false
	})
	var wait sync.WaitGroup
	wait.Go(func() {
		if err := slow.Write(t.Context()); err != nil {
			t.Error(err)
		}
	})
	<-hasRead
	var once sync.Once
	reg.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/") {
			once.Do(func() {
				reg.app.ServeHTTP(w, r) // the quick one's
				close(mayWrite)
				wait.Wait()
				r = nil
			})
		}
		return r == nil
	})
	quick.write()
	if got := fresh(t, base).knows(0, 10); got != 10 {
		t.Errorf("%d of 10 images are known", got)
	}
}

func fresh(t *testing.T, base string) machine {
	t.Helper()
	m := newMachine(t, base)
	m.read()
	return m
}

// Many who write at once lose nothing: at the latest when each writes again.
func TestWritersAtOnceLoseNothing(t *testing.T) {
	reg := newRegistry(t)
	base := reg.host + "/team/shop"
	var all []machine
	for n := range 6 {
		m := newMachine(t, base)
		m.publish(n*10, n*10+10)
		all = append(all, m)
	}
	for range 2 {
		var wait sync.WaitGroup
		for _, m := range all {
			wait.Go(func() {
				if err := m.Write(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
	}
	for _, m := range all { // a loaded machine may stretch a writing beyond all measure
		m.write()
	}
	if got := fresh(t, base).knows(0, 60); got != 60 {
		t.Errorf("%d of 60 images are known", got)
	}
}

func TestSharedIndexThatIsNoneChangesNothing(t *testing.T) {
	tests := map[string]func(w http.ResponseWriter, r *http.Request) bool{
		"denied": func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusForbidden)
			return true
		},
		"of something else": func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte(`{"schemaVersion": 2, "manifests": []}`))
			return true
		},
		"no manifest": func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte("<html>"))
			return true
		},
		"damaged shard": func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/blobs/") {
				return false
			}
			_, _ = w.Write([]byte("none"))
			return true
		},
	}
	for name, answer := range tests {
		t.Run(name, func(t *testing.T) {
			reg := newRegistry(t)
			base := reg.host + "/team/shop"
			one := newMachine(t, base)
			one.publish(0, 3)
			one.write()
			reg.intercept(answer)
			two := newMachine(t, base)
			two.publish(3, 4)
			if err := two.Read(t.Context()); err == nil || !strings.Contains(err.Error(), base+"/index") {
				t.Errorf("Read: %v, want an error that names it", err)
			}
			if err := two.Write(t.Context()); err == nil {
				t.Error("Write: it is written over")
			}
			reg.intercept(nil)
			if got := fresh(t, base).knows(0, 3); got != 3 {
				t.Errorf("%d of 3 images are known afterwards", got)
			}
			if two.knows(3, 4) != 1 {
				t.Error("its own image is forgotten")
			}
		})
	}
}

func TestReadingASharedIndexThatIsNotThereIsNoError(t *testing.T) {
	reg := newRegistry(t)
	m := newMachine(t, reg.host+"/team/shop")
	if err := m.Read(t.Context()); err != nil && !errors.Is(err, cache.ErrNotFound) {
		t.Error(err)
	}
	same(t, "requests", reg.requests(), []string{"GET manifest"})
}

// manifestAt reads a manifest of the registry.
func manifestAt(t *testing.T, reg *registry, reference string) v1.Manifest {
	t.Helper()
	m, err := reg.pull(t, reference).Manifest()
	if err != nil {
		t.Fatal(err)
	}
	return *m
}
