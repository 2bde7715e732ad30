package images_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
)

// published publishes images of one repository, each with a layer of its own and
// one that all share, the first the longest ago: the n-th n days after 1970.
func published(t *testing.T, n int) (*images.Layout, []orchestrator.Reference) {
	t.Helper()
	b := newBench(t, t.TempDir())
	to := newLayout(t, b)
	shared := files{"shared": "by all"}.write(t, t.TempDir())
	var all []orchestrator.Reference
	for i := range n {
		s := step(t, "shop/edge", fmt.Sprint("t", i), map[string]string{
			"a": files{"own": fmt.Sprint(i)}.write(t, t.TempDir()), "b": shared,
		})
		s.Reference.Digest = b.publish(t, to, s, b.build(t, s))
		all = append(all, s.Reference)
		date(t, filepath.Join(to.Dir, "shop/edge"), i)
	}
	return to, all
}

// date dates those files of a directory that have not been dated yet.
func date(t *testing.T, dir string, days int) {
	t.Helper()
	then := time.Unix(int64(days)*24*3600, 0)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil || time.Since(info.ModTime()) > time.Hour {
			return err
		}
		return os.Chtimes(path, then, then)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestLayoutPrune(t *testing.T) {
	day := 24 * time.Hour
	tests := map[string]struct {
		keep  cache.Keep
		named int // of the images, or -1
		days  int // since the last
		want  string
	}{
		"nothing bounded":      {cache.Keep{}, -1, 100, "[t0 t1 t2 t3]"},
		"by count":             {cache.Keep{Count: 2}, -1, 100, "[t2 t3]"},
		"by age":               {cache.Keep{Age: 101 * day}, -1, 100, "[t2 t3]"},
		"what a row names":     {cache.Keep{Count: 1}, 1, 100, "[t1 t3]"},
		"all are old":          {cache.Keep{Age: day}, -1, 100, "[t3]"},
		"published just now":   {cache.Keep{Age: time.Minute}, -1, 0, "[t3]"},
		"many, the last named": {cache.Keep{Count: 1}, 3, 100, "[t3]"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			layout, all := published(t, 4)
			before := blobsOf(t, layout)
			now := time.Unix(3*24*3600, 0).Add(time.Duration(test.days) * day)
			named := func(r orchestrator.Reference) bool { return test.named >= 0 && r == all[test.named] }
			done, err := layout.Prune(t.Context(), test.keep, named, now)
			if err != nil {
				t.Fatal(err)
			}
			listed, err := layout.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var tags []string
			for _, r := range listed {
				tags = append(tags, r.Tag)
			}
			same(t, "left", fmt.Sprint(tags), test.want)
			same(t, "counted", fmt.Sprint(done.Kept, done.Dropped), fmt.Sprint(len(tags), 4-len(tags)))
			// Each image has a layer, a config and a manifest of its own.
			same(t, "blobs dropped", before-blobsOf(t, layout), 3*(4-len(tags)))
			if (done.Freed > 0) != (len(tags) < 4) {
				t.Errorf("freed %d bytes", done.Freed)
			}
		})
	}
}

func blobsOf(t *testing.T, layout *images.Layout) int {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(layout.Dir, "shop/edge/blobs/sha256"))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// Where it cannot be told what images are made of nothing goes.
func TestLayoutPruneSparesWhatItCannotRead(t *testing.T) {
	for name, harm := range map[string]func(layout *images.Layout, last orchestrator.Reference) error{
		"index damaged": func(layout *images.Layout, _ orchestrator.Reference) error {
			return os.WriteFile(filepath.Join(layout.Dir, "shop/edge/index.json"), []byte("{"), 0o600)
		},
		"manifest cut": func(layout *images.Layout, last orchestrator.Reference) error {
			return os.Truncate(filepath.Join(layout.Dir, "shop/edge/blobs/sha256", last.Digest[len("sha256:"):]), 3)
		},
	} {
		t.Run(name, func(t *testing.T) {
			layout, all := published(t, 2)
			if err := harm(layout, all[1]); err != nil {
				t.Fatal(err)
			}
			before := blobsOf(t, layout)
			none := func(orchestrator.Reference) bool { return false }
			if _, err := layout.Prune(t.Context(), cache.Keep{Count: 1}, none, time.Now().Add(48*time.Hour)); err != nil {
				t.Error(err)
			}
			same(t, "blobs", blobsOf(t, layout), before)
		})
	}
}

// Images that are published while another process prunes are whole.
func TestLayoutPruneWhilePublishing(t *testing.T) {
	b := newBench(t, t.TempDir())
	to := newLayout(t, b)
	var publishing, pruning sync.WaitGroup
	done := make(chan struct{})
	pruning.Go(func() {
		none := func(orchestrator.Reference) bool { return false }
		for {
			if _, err := to.Prune(t.Context(), cache.Keep{Count: 1}, none, time.Now()); err != nil {
				t.Error(err)
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for i := range 8 {
		s := step(t, "shop/edge", fmt.Sprint("t", i), map[string]string{"a": files{"own": fmt.Sprint(i)}.write(t, t.TempDir())})
		image := b.build(t, s)
		publishing.Go(func() {
			if _, err := to.Publish(t.Context(), s, image); err != nil {
				t.Error(err)
			}
		})
	}
	publishing.Wait()
	close(done)
	pruning.Wait()
	listed, err := to.List(t.Context())
	if err != nil || len(listed) != 8 {
		t.Errorf("listed %v, %v", listed, err)
	}
}
