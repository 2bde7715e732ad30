package release_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/chart"
	"toa.io/toa/orchestrator"
	"toa.io/toa/release"
	"toa.io/toa/workspace"
)

var _ orchestrator.Releaser = (*release.Packager)(nil)

// inputs is the key of what charts of these tests are made of.
var inputs = cache.Digest([]byte("inputs"))

// small is a chart of few files, out of order.
func small() *chart.Chart {
	return &chart.Chart{Name: "shop", Version: "1.2.3+4", Files: []chart.File{
		{Path: "values.yaml", Data: []byte("a: 1\n")},
		{Path: "Chart.yaml", Data: []byte("name: shop\n")},
		{Path: "templates/a.yaml", Data: nil},
	}}
}

// packaged releases a chart and returns what was written.
func packaged(t *testing.T, p *release.Packager, c *chart.Chart) (orchestrator.Release, []byte) {
	t.Helper()
	r, err := p.Release(t.Context(), inputs, c)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(r.Chart)
	if err != nil {
		t.Fatal(err)
	}
	return r, data
}

func TestReleaseTellsWhetherAnythingChanged(t *testing.T) {
	p := &release.Packager{Dir: t.TempDir(), Settings: workspace.Release{Namespace: "prod"}}
	first, before := packaged(t, p, small())
	if first.Status != "packaged" || first.Namespace != "prod" || first.Chart != filepath.Join(p.Dir, "shop-1.2.3+4.tgz") {
		t.Errorf("first release is %+v", first)
	}
	again, same := packaged(t, p, small())
	if again.Status != "unchanged" || again.Chart != first.Chart || again.Command != first.Command || !bytes.Equal(before, same) {
		t.Errorf("second release is %+v, want the first one unchanged", again)
	}
	changed := small()
	changed.Files[0].Data = []byte("a: 2\n")
	third, after := packaged(t, p, changed)
	if third.Status != "packaged" || bytes.Equal(before, after) {
		t.Errorf("release of another chart is %+v", third)
	}
	only(t, p.Dir, ".toa-package.json", "shop-1.2.3+4.tgz")
}

func TestReleaseLeavesUnchangedPackageAlone(t *testing.T) {
	p := &release.Packager{Dir: t.TempDir()}
	r, _ := packaged(t, p, small())
	past := time.Unix(1000, 0)
	if err := os.Chtimes(r.Chart, past, past); err != nil {
		t.Fatal(err)
	}
	packaged(t, p, small())
	info, err := os.Stat(r.Chart)
	if err != nil {
		t.Fatal(err)
	}
	if !info.ModTime().Equal(past) {
		t.Error("an equal package was written again")
	}
}

func TestReleaseMendsDamagedPackage(t *testing.T) {
	p := &release.Packager{Dir: t.TempDir()}
	r, want := packaged(t, p, small())
	if err := os.WriteFile(r.Chart, want[:10], 0o644); err != nil {
		t.Fatal(err)
	}
	mended, got := packaged(t, p, small())
	if mended.Status != "packaged" || !bytes.Equal(got, want) {
		t.Errorf("damaged package is %s", mended.Status)
	}
}

func TestReleaseMakesItsDirectory(t *testing.T) {
	p := &release.Packager{Dir: filepath.Join(t.TempDir(), "a", "b")}
	r, _ := packaged(t, p, small())
	file, err := os.Stat(r.Chart)
	if err != nil {
		t.Fatal(err)
	}
	if file.Mode().Perm() != 0o644 {
		t.Errorf("package has mode %o, want 644", file.Mode().Perm())
	}
}

func TestReleaseGoesToTheWorkingDirectoryByDefault(t *testing.T) {
	t.Chdir(t.TempDir())
	r, _ := packaged(t, &release.Packager{}, small())
	if r.Chart != "shop-1.2.3+4.tgz" {
		t.Errorf("package is at %s", r.Chart)
	}
}

func TestReleaseThatFailsLeavesNothing(t *testing.T) {
	t.Run("directory in place of the package", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "shop-1.2.3+4.tgz", "full"), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := (&release.Packager{Dir: dir}).Release(t.Context(), inputs, small()); err == nil {
			t.Error("Release over a directory succeeds")
		}
		only(t, dir, "shop-1.2.3+4.tgz")
	})
	t.Run("file in place of the directory", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := (&release.Packager{Dir: file}).Release(t.Context(), inputs, small()); err == nil {
			t.Error("Release into a file succeeds")
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		dir, stopped := t.TempDir(), errors.New("stopped")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(stopped)
		if _, err := (&release.Packager{Dir: dir}).Release(ctx, inputs, small()); !errors.Is(err, stopped) {
			t.Errorf("Release after cancel: error %v, want its cause", err)
		}
		only(t, dir)
	})
	t.Run("name too long for an archive", func(t *testing.T) {
		dir, c := t.TempDir(), small()
		c.Files[0].Path = string(bytes.Repeat([]byte("a"), 300))
		if _, err := (&release.Packager{Dir: dir}).Release(t.Context(), inputs, c); err == nil {
			t.Error("Release with a long name succeeds")
		}
		only(t, dir)
	})
}

func TestArchiveHoldsNothingOfTheMachine(t *testing.T) {
	_, data := packaged(t, &release.Packager{Dir: t.TempDir()}, small())
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if !zip.ModTime.IsZero() || zip.Name != "" || zip.Comment != "" || len(zip.Extra) > 0 {
		t.Errorf("gzip header is %+v", zip.Header)
	}
	var names []string
	for archive := tar.NewReader(zip); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
		if header.Mode != 0o644 || header.Uid != 0 || header.Gid != 0 || header.Uname != "" || header.Gname != "" ||
			header.ModTime.Unix() != 0 || header.Typeflag != tar.TypeReg || len(header.PAXRecords) > 0 {
			t.Errorf("header is %+v", header)
		}
	}
	if want := []string{"shop/Chart.yaml", "shop/templates/a.yaml", "shop/values.yaml"}; !slices.Equal(names, want) {
		t.Errorf("entries are %q, want %q", names, want)
	}
}

// Another process elsewhere, with other habits, must write the same bytes.
func TestArchiveIsReproducible(t *testing.T) {
	const child = "TOA_TEST_PACKAGE_INTO"
	if dir := os.Getenv(child); dir != "" {
		packaged(t, &release.Packager{Dir: dir}, shop(t))
		return
	}
	_, want := packaged(t, &release.Packager{Dir: t.TempDir()}, shop(t))
	for name, env := range map[string][]string{
		"0002": {"TZ=Asia/Kathmandu", "LC_ALL=tr_TR.UTF-8", "SOURCE_DATE_EPOCH=1700000000"},
		"0077": {"TZ=America/St_Johns", "LC_ALL=C", "HOME=/nonexistent"},
	} {
		dir := t.TempDir()
		cmd := exec.Command("sh", "-c", `umask "$1" && exec "$2" -test.run '^TestArchiveIsReproducible$'`, "sh", name, os.Args[0])
		cmd.Dir = t.TempDir()
		cmd.Env = append(append(os.Environ(), env...), child+"="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("umask %s: %v\n%s", name, err, out)
		}
		got, err := os.ReadFile(filepath.Join(dir, "my-shop-1.10.0.tgz"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("package made with umask %s and %q differs", name, env)
		}
	}
}

func TestReleaseCommand(t *testing.T) {
	for name, test := range map[string]struct {
		dir      string
		settings workspace.Release
		want     string
	}{
		"nothing stated": {"", workspace.Release{}, "helm upgrade --install shop shop-1.2.3+4.tgz"},
		"everything": {
			"out/charts",
			workspace.Release{Namespace: "prod", Context: "kind@eu", Wait: true, Timeout: 90 * time.Second, Atomic: true, History: 5},
			"helm upgrade --install shop out/charts/shop-1.2.3+4.tgz --namespace prod --create-namespace --kube-context kind@eu" +
				" --wait --timeout 1m30s --atomic --history-max 5",
		},
		"words for a shell": {
			"it's $HOME",
			workspace.Release{Context: "arn:aws:eks:eu-1:42:cluster/a b"},
			`helm upgrade --install shop 'it'\''s $HOME/shop-1.2.3+4.tgz' --kube-context 'arn:aws:eks:eu-1:42:cluster/a b'`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			r, _ := packaged(t, &release.Packager{Dir: test.dir, Settings: test.settings}, small())
			if r.Command != test.want {
				t.Errorf("command is\n%s\nwant\n%s", r.Command, test.want)
			}
		})
	}
}

// A shell must find the very arguments in the command.
func FuzzReleaseCommand(f *testing.F) {
	f.Add("")
	f.Add("a b")
	f.Add("'")
	f.Add("$(touch x)\n`y`\\!*?~#&;|<>é")
	f.Add("-rf")
	f.Fuzz(func(t *testing.T, word string) {
		if bytes.ContainsRune([]byte(word), 0) {
			t.Skip("no argument holds a NUL")
		}
		t.Chdir(t.TempDir())
		r, _ := packaged(t, &release.Packager{Settings: workspace.Release{Context: word + "x"}}, small())
		out, err := exec.Command("sh", "-c", `helm() { printf '%s\0' "$@"; }; `+r.Command).Output()
		if err != nil {
			t.Fatal(err)
		}
		want := "upgrade\x00--install\x00shop\x00shop-1.2.3+4.tgz\x00--kube-context\x00" + word + "x\x00"
		if string(out) != want {
			t.Errorf("a shell reads %s as %q, want %q", r.Command, out, want)
		}
	})
}

// only fails unless dir holds the named entries and nothing else.
func only(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, names) {
		t.Errorf("directory holds %q, want %q", got, names)
	}
}
