package images_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"toa.io/toa/cache"
	"toa.io/toa/images"
)

// A registry that does not give what its digests say is not believed.
func TestLyingRegistry(t *testing.T) {
	for _, row := range []struct {
		name, path string
		lie        func(w io.Writer)
		want       string
	}{
		{"another manifest", "/manifests/", func(w io.Writer) { _, _ = io.WriteString(w, `{"schemaVersion":2}`) }, cache.ErrDamaged.Error()},
		{"endless manifest", "/manifests/", endless, "larger than"},
		{"another config", "/blobs/", func(w io.Writer) { _, _ = io.WriteString(w, `{}`) }, cache.ErrDamaged.Error()},
		{"endless config", "/blobs/", endless, cache.ErrDamaged.Error()},
	} {
		t.Run(row.name, func(t *testing.T) {
			reg := newRegistry(t)
			pin := reg.push(t, "base:1", amd64(t, randomImage(t)))
			reg.intercept(func(w http.ResponseWriter, r *http.Request) bool {
				if strings.Contains(r.URL.Path, row.path) {
					row.lie(w)
					return true
				}
				return false
			})
			s := step(t, reg.host+"/shop/x", "t", nil)
			s.Recipe.Base, s.Recipe.Digests = reg.host+"/base:1", []string{pin}
			_, err := newBench(t, t.TempDir()).native.Build(t.Context(), s, nil)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("Build: got %v, want %q", err, row.want)
			}
		})
	}
}

func endless(w io.Writer) {
	zeros := make([]byte, 1<<20)
	for {
		if _, err := w.Write(zeros); err != nil {
			return
		}
	}
}

func TestPinnedBaseThatIsGone(t *testing.T) {
	reg := newRegistry(t)
	s := step(t, reg.host+"/shop/x", "t", nil)
	s.Recipe.Base, s.Recipe.Digests = reg.host+"/base:1", []string{"sha256:" + strings.Repeat("0", 64)}
	_, err := newBench(t, t.TempDir()).native.Build(t.Context(), s, nil)
	if err == nil || !strings.Contains(err.Error(), "base:1") || !strings.Contains(err.Error(), "any more") {
		t.Errorf("Build: got %v, want an error that names the base", err)
	}
}

func TestBaseOfAnotherPlatform(t *testing.T) {
	reg := newRegistry(t)
	pin := reg.push(t, "base:1", amd64(t, randomImage(t)))
	s := step(t, reg.host+"/shop/x", "t", nil)
	s.Recipe.Platforms = []string{"linux/arm64"}
	s.Recipe.Base, s.Recipe.Digests = reg.host+"/base:1", []string{pin}
	_, err := newBench(t, t.TempDir()).native.Build(t.Context(), s, nil)
	var missing *images.NoPlatformError
	if !errors.As(err, &missing) || missing.Base != reg.host+"/base:1" || missing.Platform != "linux/arm64" {
		t.Errorf("Build: got %v, want a NoPlatformError", err)
	}
}

func TestUnpinnedBaseIsRefused(t *testing.T) {
	s := step(t, "shop/x", "t", nil)
	s.Recipe.Base = "node:24"
	if _, err := newBench(t, t.TempDir()).native.Build(t.Context(), s, nil); err == nil || !strings.Contains(err.Error(), "not pinned") {
		t.Errorf("Build: got %v, want an error", err)
	}
}

// What a resolver has read is not read again to build.
func TestResolveThenBuildReadsOnce(t *testing.T) {
	reg := newRegistry(t)
	reg.push(t, "base:1", amd64(t, randomImage(t)))
	b := newBench(t, t.TempDir())
	s := step(t, reg.host+"/shop/x", "t", nil)
	pin, err := (&images.Resolver{Client: b.client, Blobs: b.blobs}).Resolve(t.Context(), reg.host+"/base:1", "linux/amd64")
	if err != nil {
		t.Fatal(err)
	}
	s.Recipe.Base, s.Recipe.Digests = reg.host+"/base:1", []string{pin}
	b.build(t, s)
	same(t, "requests", reg.requests(), []string{"GET manifest", "GET blob"})
}

// Layers of a base on the same registry are mounted, those of another are
// streamed over.
func TestBaseLayersReachTheTarget(t *testing.T) {
	reg, other := newRegistry(t), newRegistry(t)
	base := amd64(t, randomImage(t))
	reg.push(t, "base:1", base)
	pin := other.push(t, "base:1", base)
	for host, want := range map[string]int{reg.host: 2, other.host: 0} {
		b := newBench(t, t.TempDir())
		repository := reg.host + "/shop/from-" + map[bool]string{true: "same", false: "other"}[host == reg.host]
		s := step(t, repository, "t", map[string]string{"a": files{"a": "1"}.write(t, t.TempDir())})
		s.Recipe.Base, s.Recipe.Digests = host+"/base:1", []string{pin}
		b.publish(t, b.remote, s, b.build(t, s))
		mounts := 0
		for _, r := range reg.requests() {
			if r == "POST mount" {
				mounts++
			}
		}
		same(t, "mounts", mounts, want)
		same(t, "files", len(contents(t, reg.pull(t, repository+":t"))), len(contents(t, base))+1)
	}
}
