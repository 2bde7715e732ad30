package cache_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"toa.io/toa/cache"
)

func TestWhatARegistryLostIsRememberedUntilItIsMended(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.db")
	open := func() *cache.Index {
		return cache.NewIndex(cache.OpenDB(path, func(w string) { t.Error("warning:", w) }))
	}
	want := func(x *cache.Index, repository string, digests ...string) {
		t.Helper()
		if got := x.Lost("host", repository); !slices.Equal(got, digests) {
			t.Errorf("Lost(%s) = %q, want %q", repository, got, digests)
		}
	}
	one := open()
	want(one, "host/a")
	if err := one.Lose("host", "host/a", "sha256:2", "sha256:1"); err != nil {
		t.Fatal(err)
	}
	if err := one.Lose("host", "host/b", "sha256:1"); err != nil {
		t.Fatal(err)
	}
	want(one, "host/a", "sha256:1", "sha256:2")

	two := open()
	want(two, "host/b", "sha256:1")
	two.Mended("host", "host/a", "sha256:1")
	two.Mended("host", "host/a", "sha256:3")
	want(two, "host/a", "sha256:2")
	if _, err := two.Prune(cache.Keep{Age: time.Hour, Count: 1, Bytes: 1}, time.Now()); err != nil {
		t.Fatal(err)
	}
	three := open()
	want(three, "host/a", "sha256:2")
	want(three, "host/b", "sha256:1")
	want(three, "host/c")
}

func TestImagesListsTheIndex(t *testing.T) {
	x := cache.NewIndex(cache.OpenDB(filepath.Join(t.TempDir(), "index.db"), nil))
	at := time.Unix(1, 0)
	var want []cache.Image
	for _, repository := range []string{"b/x", "a/y", "a/x"} {
		host, _, _ := strings.Cut(repository, "/")
		for _, n := range []string{"1", "2"} {
			one := cache.Image{Registry: host, Repository: repository, Key: cache.Digest([]byte(n)), Entry: cache.Entry{Digest: "sha256:" + n, VerifiedAt: at}}
			if err := x.Put(host, repository, one.Key, one.Entry, "composition/x", nil); err != nil {
				t.Fatal(err)
			}
			want = append(want, one)
		}
	}
	got, err := x.Images()
	if err != nil || len(got) != len(want) {
		t.Fatalf("Images: %v, %v", got, err)
	}
	for i := range got[1:] {
		if got[i].Repository > got[i+1].Repository {
			t.Errorf("%s is before %s", got[i].Repository, got[i+1].Repository)
		}
	}
	for _, one := range want {
		if !slices.ContainsFunc(got, func(g cache.Image) bool {
			return g.Registry == one.Registry && g.Repository == one.Repository && g.Key == one.Key && g.Digest == one.Digest && g.VerifiedAt.Equal(at)
		}) {
			t.Errorf("Images lacks %+v", one)
		}
	}
}
