package buildkit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tonistiigi/fsutil"
	"pgregory.net/rapid"
	"toa.io/toa/cache"
	"toa.io/toa/images"
)

// listed are the files of paths, each holding its own path.
func listed(t interface{ Fatal(...any) }, paths []string) *files {
	var all []cache.File
	for _, path := range paths {
		all = append(all, cache.Generated(path, []byte(path)))
	}
	f, err := newFiles([]images.ContextPart{{Label: "label", Tree: cache.NewTree(all)}}, 0, func(err error) { t.Fatal(err) })
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// paths draws paths of which none is below another.
func paths(t *rapid.T) []string {
	segment := rapid.StringMatching(`[a-c][-.!a-c]{0,2}`)
	drawn := rapid.SliceOfN(rapid.SliceOfN(segment, 1, 3), 1, 12).Draw(t, "paths")
	var all []string
	for _, one := range drawn {
		path := strings.Join(one, "/")
		if !slices.ContainsFunc(all, func(other string) bool { return below(path, other) || below(other, path) }) {
			all = append(all, path)
		}
	}
	return all
}

// Whatever the files, engines walk over them as over a directory that holds
// them: the same entries in the same order, whatever is left out on the way.
func TestWalkIsThatOfADirectory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all := paths(rt)
		f := listed(rt, all)
		dir, err := os.MkdirTemp("", "walk-")
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		for _, path := range all {
			full := filepath.Join(dir, "label", path)
			if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(path), 0o644)); err != nil {
				rt.Fatal(err)
			}
		}
		disk, err := fsutil.NewFS(dir)
		if err != nil {
			rt.Fatal(err)
		}
		skip := rapid.SampledFrom(append(all, "")).Draw(rt, "skip")
		target := rapid.SampledFrom([]string{"/", "label", "label/" + filepath.Dir(all[0])}).Draw(rt, "target")
		if got, want := walked(rt, f, target, skip), walked(rt, disk, target, skip); !slices.Equal(got, want) {
			rt.Fatalf("walk of %s without %q over %q:\n got %q\nwant %q", target, skip, all, got, want)
		}
	})
}

// walked lists a walk that answers SkipDir at one path.
func walked(t *rapid.T, over fsutil.FS, target, skip string) []string {
	var seen []string
	err := over.Walk(context.Background(), target, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		seen = append(seen, fmt.Sprintf("%t %s", entry.IsDir(), path))
		if skip != "" && path == "label/"+filepath.Dir(skip) {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// Every file can be read under the path that the walk gives it.
func TestOpen(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all := paths(rt)
		f := listed(rt, all)
		for _, path := range all {
			body, err := f.Open("/label/" + path)
			if err != nil {
				rt.Fatal(err)
			}
			data, err := io.ReadAll(body)
			if err != nil || string(data) != path {
				rt.Fatalf("Open(%s): %q, %v", path, data, err)
			}
		}
	})
}

// What is not there is an error of the build: senders take it for empty.
func TestOpenNothing(t *testing.T) {
	var told error
	f, err := newFiles(nil, 0, func(err error) { told = err })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Open("a"); !errors.Is(err, fs.ErrNotExist) || !errors.Is(told, fs.ErrNotExist) {
		t.Errorf("Open: %v, told %v", err, told)
	}
}

// Files of equal size have equal times only where their content is equal, and
// no time is before the epoch, to which images set what is later.
func TestTimesAreOfContent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		epoch := rapid.Int64Range(0, 1<<33).Draw(rt, "epoch")
		one, two := rapid.String().Draw(rt, "one"), rapid.String().Draw(rt, "two")
		f := &files{epoch: epoch}
		a, b := f.time(cache.Digest([]byte(one))), f.time(cache.Digest([]byte(two)))
		if (a == b) != (one == two) || a < epoch*1e9 {
			rt.Fatalf("times of %q and %q are %d and %d, the epoch is %d", one, two, a, b, epoch)
		}
	})
}

func TestBadPath(t *testing.T) {
	tree := cache.NewTree([]cache.File{cache.Generated("../out", nil)})
	if _, err := newFiles([]images.ContextPart{{Owner: "store.goods", Tree: tree}}, 0, nil); err == nil || !strings.Contains(err.Error(), "store.goods") {
		t.Errorf("newFiles: %v, want an error", err)
	}
}
