package release_test

import (
	"os"
	"path/filepath"
	"testing"

	"toa.io/toa/cache"
	"toa.io/toa/orchestrator"
	"toa.io/toa/release"
	"toa.io/toa/workspace"
)

func TestCurrentFindsWhatWasReleased(t *testing.T) {
	dir := t.TempDir()
	made, _ := packaged(t, &release.Packager{Dir: dir}, small())
	later := &release.Packager{Dir: dir, Settings: workspace.Release{Namespace: "prod"}}
	got, current := standing(t, later)
	if !current {
		t.Fatal("the package of the same inputs is not current")
	}
	want := orchestrator.Release{
		Status: "unchanged", Chart: made.Chart, Namespace: "prod",
		Command: made.Command + " --namespace prod --create-namespace",
	}
	if got != want {
		t.Errorf("standing release is\n%+v\nwant\n%+v", got, want)
	}
}

func TestCurrentIsFalse(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir string){
		"without a directory": func(t *testing.T, dir string) { try(t, os.RemoveAll(dir)) },
		"without a note":      func(t *testing.T, dir string) { try(t, os.Remove(filepath.Join(dir, ".toa-package.json"))) },
		"without the package": func(t *testing.T, dir string) { try(t, os.Remove(filepath.Join(dir, "shop-1.2.3+4.tgz"))) },
		"with a damaged package": func(t *testing.T, dir string) {
			try(t, os.Truncate(filepath.Join(dir, "shop-1.2.3+4.tgz"), 10))
		},
		"with a damaged note": func(t *testing.T, dir string) {
			try(t, os.Truncate(filepath.Join(dir, ".toa-package.json"), 10))
		},
		"with the package of other inputs": func(t *testing.T, dir string) {
			if _, err := (&release.Packager{Dir: dir}).Release(t.Context(), cache.Digest(nil), small()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &release.Packager{Dir: filepath.Join(t.TempDir(), "charts")}
			packaged(t, p, small())
			change(t, p.Dir)
			if _, current := standing(t, p); current {
				t.Fatal("Current is true")
			}
			packaged(t, p, small())
			if _, current := standing(t, p); !current {
				t.Error("Current is false after another release")
			}
		})
	}
}

// A package that another chart wrote under the same name is not ours.
func TestCurrentLooksAtThePackage(t *testing.T) {
	p := &release.Packager{Dir: t.TempDir()}
	packaged(t, p, small())
	other := small()
	other.Files[0].Data = []byte("a: 2\n")
	elsewhere, data := packaged(t, &release.Packager{Dir: t.TempDir()}, other)
	try(t, os.WriteFile(filepath.Join(p.Dir, filepath.Base(elsewhere.Chart)), data, 0o644))
	if _, current := standing(t, p); current {
		t.Error("Current is true for another package of the same name")
	}
}

func TestReleaseWorksWhereNoNoteCanBeWritten(t *testing.T) {
	p := &release.Packager{Dir: t.TempDir()}
	try(t, os.MkdirAll(filepath.Join(p.Dir, ".toa-package.json", "full"), 0o755))
	if r, _ := packaged(t, p, small()); r.Status != "packaged" {
		t.Errorf("status is %s", r.Status)
	}
	if _, current := standing(t, p); current {
		t.Error("Current is true without a note")
	}
	only(t, p.Dir, ".toa-package.json", "shop-1.2.3+4.tgz")
}

// Whatever a note says, only the package itself makes Current true.
func FuzzNote(f *testing.F) {
	dir := f.TempDir()
	p := &release.Packager{Dir: dir}
	made, err := p.Release(f.Context(), inputs, small())
	if err != nil {
		f.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, ".toa-package.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"Format":"toa/package/v1","Package":"../shop-1.2.3+4.tgz"}`))
	f.Add([]byte(`{"Format":"toa/package/v1","Package":".."}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		try(t, os.WriteFile(filepath.Join(dir, ".toa-package.json"), data, 0o644))
		if r, current := standing(t, p); current && r.Chart != made.Chart {
			t.Errorf("note %s makes %s current", data, r.Chart)
		}
	})
}

// standing asks a packager about the inputs of these tests.
func standing(t *testing.T, p *release.Packager) (orchestrator.Release, bool) {
	t.Helper()
	r, current, err := p.Current(t.Context(), inputs)
	if err != nil {
		t.Fatal(err)
	}
	return r, current
}

func try(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
