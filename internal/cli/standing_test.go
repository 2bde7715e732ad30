package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toa.io/toa/internal/ui"
	"toa.io/toa/orchestrator"
)

// shop is a workspace with a cache of its own.
type shop struct {
	t          *testing.T
	dir, cache string
	env        map[string]string
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{t: t, dir: t.TempDir(), cache: t.TempDir(), env: map[string]string{}}
	for rel, content := range map[string]string{
		"context.toa.yaml":                         "name: shop\nversion: 0.1.0\npackages: components/*\nregistry:\n  build:\n    image: scratch\nresources: null\nmongodb: mongodb://mongodb\namqp: amqp://rabbitmq\n",
		"components/orders/manifest.toa.yaml":      "namespace: store\nname: orders\nprototype: ./base\n",
		"components/orders/operations/add.js":      "exports.computation = 1\n",
		"components/orders/.toaignore":             "*.md\n",
		"components/orders/readme.md":              "is ignored\n",
		"components/letters/operations/send.js":    "exports.computation = 2\n",
		"components/letters/manifest.toa.yaml":     "namespace: notices\nname: letters\n",
		"components/orders/base/manifest.toa.yaml": "entity:\n  schema: {}\n",
		"outside/readme.md":                        "is looked at by nobody\n",
		".toaignore":                               "*.tmp\n",
	} {
		s.put(rel, content)
	}
	s.age()
	return s
}

// age waits until what was changed last can be known by its times, which nobody
// can set back.
func (s *shop) age() { time.Sleep(25 * time.Millisecond) }

// images are the references that a command says, by ID, and its exit code.
func (s *shop) images(cache string, args ...string) (map[string]string, int) {
	s.t.Helper()
	var out bytes.Buffer
	args = append(args, "--output", "json", "-C", s.dir, "--cache-dir", cache)
	code := Run(s.t.Context(), args, IO{In: strings.NewReader(""), Out: &out, Err: io.Discard, Env: func(name string) string { return s.env[name] }})
	return referencesOf(out.Bytes()), code
}

// referencesOf finds images in what plan and build print: those of the plan.
func referencesOf(text []byte) map[string]string {
	found := map[string]string{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	for {
		var line struct {
			Images json.RawMessage
		}
		if decoder.Decode(&line) != nil {
			return found
		}
		var images []struct{ ID, Reference, Tag string }
		if json.Unmarshal(line.Images, &images) != nil {
			continue
		}
		for _, image := range images {
			reference, _, _ := strings.Cut(image.Reference, "@")
			found[image.ID] = reference
		}
	}
}

// repeated tells whether the next run would be a repetition of the last.
func (s *shop) repeated(args ...string) bool {
	s.t.Helper()
	g := &globals{io: IO{Env: func(name string) string { return s.env[name] }}, path: s.dir, cacheDir: s.cache}
	session, err := g.enter("")
	if err != nil {
		s.t.Fatal(err)
	}
	defer session.close()
	f := &buildFlags{release: releaseAuto}
	for _, arg := range args {
		f.release = strings.TrimPrefix(arg, "--release=")
	}
	_, done := session.repeat(s.t.Context(), f, orchestrator.Trust{}, ui.Tee())
	return done
}

// stand runs until there is nothing left to learn.
func (s *shop) stand(args ...string) {
	s.t.Helper()
	for range 5 {
		if _, code := s.images(s.cache, append([]string{"graph", "build"}, args...)...); code != exitDone {
			s.t.Fatalf("build ends with %d", code)
		}
		if s.repeated(args...) {
			return
		}
		s.age()
	}
	s.t.Fatal("five runs without a change, and none is repeated")
}

func TestUnchangedRunIsRepeated(t *testing.T) {
	for _, release := range []string{"--release=none", "--release=auto"} {
		s := newShop(t)
		s.stand(release)
		first, _ := s.images(s.cache, "graph", "build", release)
		s.env["SOURCE_DATE_EPOCH"] = "1"
		if s.repeated(release) {
			t.Errorf("%s: repeated for another time", release)
		}
		delete(s.env, "SOURCE_DATE_EPOCH")
		if again, code := s.images(s.cache, "graph", "build", release); code != exitDone || !maps.Equal(first, again) || len(first) == 0 {
			t.Errorf("%s: %v, then %v", release, first, again)
		}
	}
}

// A package or a row of the index that is gone is made again.
func TestNothingIsRepeatedThatIsGone(t *testing.T) {
	s := newShop(t)
	s.stand()
	charts, err := filepath.Glob(filepath.Join(s.cache, "charts", "*", "*.tgz"))
	if err != nil || len(charts) != 1 {
		t.Fatalf("charts: %v, %v", charts, err)
	}
	if err := os.Remove(charts[0]); err != nil {
		t.Fatal(err)
	}
	if s.repeated() {
		t.Error("repeated without its package")
	}
	if _, code := s.images(s.cache, "graph", "build"); code != exitDone {
		t.Error("it cannot be made again")
	}
	if _, err := os.Stat(charts[0]); err != nil {
		t.Error(err)
	}
	s.stand()
	if err := os.Remove(filepath.Join(s.cache, "db", "index.db")); err != nil {
		t.Fatal(err)
	}
	if s.repeated() {
		t.Error("repeated without an index")
	}
}

// Whatever is changed in the workspace, a run after it plans what a run plans
// that knows nothing.
func TestEveryChangeIsSeen(t *testing.T) {
	s := newShop(t)
	s.stand("--release=none")
	s.age()
	for name, change := range s.changes() {
		undo := change()
		s.age()
		got, code := s.images(s.cache, "graph", "build", "--release=none")
		want, wantCode := s.images(t.TempDir(), "graph", "plan")
		if code == exitDone && wantCode != exitDone || wantCode == exitDone && !maps.Equal(got, want) {
			t.Errorf("%s: exit code %d and\n%v\nwithout a cache %d and\n%v", name, code, got, wantCode, want)
		}
		undo()
		s.age()
		s.stand("--release=none")
	}
}

// changes are ways to change the workspace, each of which returns how it is undone.
func (s *shop) changes() map[string]func() (undo func()) {
	all := map[string]func() func(){}
	for _, name := range []string{"components/letters/.toaignore", "templates/composition.Dockerfile", "package.json", "components/extra/manifest.toa.yaml"} {
		all["new "+name] = func() func() { return s.put(name, newContents[filepath.Base(name)]) }
	}
	_ = filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(s.dir, path)
		switch {
		case err != nil:
			s.t.Fatal(err)
		case entry.IsDir():
			all["new file in "+rel] = func() func() { return s.put(filepath.Join(rel, "new.js"), "1\n") }
		default:
			all["content of "+rel] = func() func() { return s.edit(rel) }
			all["mode of "+rel] = func() func() { return s.execute(rel) }
			all["removal of "+rel] = func() func() { return s.remove(rel) }
		}
		return nil
	})
	return all
}

var newContents = map[string]string{
	".toaignore":             "*.js\n",
	"composition.Dockerfile": "FROM scratch\n",
	"package.json":           `{"type": "module"}`,
	"manifest.toa.yaml":      "namespace: extra\nname: one\n",
}

func (s *shop) put(rel, content string) func() {
	path := filepath.Join(s.dir, rel)
	if _, err := os.Stat(path); err == nil {
		s.t.Fatalf("%s is there already", rel)
	}
	_, missing := os.Stat(filepath.Dir(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	s.write(path, []byte(content), 0o644)
	return func() {
		_ = os.Remove(path)
		if missing != nil {
			_ = os.Remove(filepath.Dir(path))
		}
	}
}

// edit changes one byte before the last line's end, so that the size stays.
func (s *shop) edit(rel string) func() {
	path := filepath.Join(s.dir, rel)
	before := s.read(path)
	after := bytes.Clone(before)
	after[len(after)-2] ^= 1
	s.write(path, after, 0o644)
	return func() { s.write(path, before, 0o644) }
}

func (s *shop) execute(rel string) func() {
	path := filepath.Join(s.dir, rel)
	if err := os.Chmod(path, 0o755); err != nil {
		s.t.Fatal(err)
	}
	return func() { _ = os.Chmod(path, 0o644) }
}

func (s *shop) remove(rel string) func() {
	path := filepath.Join(s.dir, rel)
	before := s.read(path)
	if err := os.Remove(path); err != nil {
		s.t.Fatal(err)
	}
	return func() { s.write(path, before, 0o644) }
}

func (s *shop) read(path string) []byte {
	data, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	return data
}

func (s *shop) write(path string, data []byte, mode os.FileMode) {
	if err := os.WriteFile(path, data, mode); err != nil {
		s.t.Fatal(err)
	}
}
