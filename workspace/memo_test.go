package workspace_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"toa.io/toa/workspace"
)

// memory is a Memo that believes what it holds until it is told otherwise.
type memory struct {
	mutex sync.Mutex // guards memos
	memos map[string][]byte
}

func newMemory() *memory { return &memory{memos: map[string][]byte{}} }

func (m *memory) Recall(path string) []byte {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return bytes.Clone(m.memos[path])
}

func (m *memory) Keep(path string, _, memo []byte) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.memos[path] = bytes.Clone(memo)
}

// watched notes which files are opened.
type watched struct {
	fstest.MapFS
	mutex  sync.Mutex // guards opened
	opened []string
}

func (w *watched) Open(name string) (fs.File, error) {
	file, err := w.MapFS.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err == nil && !info.IsDir() {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		w.opened = append(w.opened, name)
	}
	return file, nil
}

func TestMemoRoundTrip(t *testing.T) {
	for _, fsys := range []fstest.MapFS{files(), completeFiles(), files(contextPath, "name: shop\nregistry: {platforms: ~}\namqp: {a@dev: [1], b: x, c@dev: {d: 2}}\n")} {
		fresh := load(t, fsys, "")
		memo := newMemory()
		for _, pass := range []string{"keeping", "recalling"} {
			w := &watched{MapFS: fsys}
			got, err := workspace.Load(w, "", memo)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, fresh) {
				t.Errorf("%s: %+v, want %+v", pass, got, fresh)
			}
			if pass == "recalling" && len(w.opened) > 0 {
				t.Errorf("%s opened %q, want nothing", pass, w.opened)
			}
		}
	}
}

func TestMemoIsOfOneEnvironment(t *testing.T) {
	fsys := files(contextPath, "name: shop\nregistry: {}\ndescription: a\ndescription@dev: b\n")
	memo := newMemory()
	for _, environment := range []string{"", "dev", "dev:x", ""} {
		got, err := workspace.Load(fsys, environment, memo)
		if err != nil {
			t.Fatal(err)
		}
		if want := load(t, fsys, environment); !reflect.DeepEqual(got, want) {
			t.Errorf("in %q: %+v, want %+v", environment, got, want)
		}
	}
}

func TestMistakesAreNotKept(t *testing.T) {
	memo := newMemory()
	fsys := files(contextPath, "name: my shop\nregistry: {}\n", manifestPath, "nmae: x\n", packagePath, "[]")
	for range 2 {
		if _, err := workspace.Load(fsys, "", memo); err == nil {
			t.Error("Load: no error")
		}
		for path := range memo.memos {
			if _, exists := fsys[path]; exists {
				t.Errorf("kept a memo of %s, which is wrong", path)
			}
		}
	}
}

// Twins and missing members are mistakes of files that are right by themselves.
func TestMistakesBetweenFilesAreFoundAgain(t *testing.T) {
	memo := newMemory()
	fsys := files(contextPath, "name: shop\nregistry: {}\ncompositions:\n  - {name: edge, components: [gone]}\n")
	_, first := workspace.Load(fsys, "", memo)
	_, second := workspace.Load(fsys, "", memo)
	if first == nil || second == nil || first.Error() != second.Error() {
		t.Errorf("first %v, then %v, want the same error", first, second)
	}
	if memo.memos[contextPath] == nil || memo.memos[manifestPath] == nil {
		t.Errorf("kept %d memos, want those of the context and the manifest too", len(memo.memos))
	}
}

func TestDamagedMemoIsNone(t *testing.T) {
	fsys := completeFiles()
	want, memo := load(t, fsys, ""), newMemory()
	if _, err := workspace.Load(fsys, "", memo); err != nil {
		t.Fatal(err)
	}
	for path, whole := range maps.Clone(memo.memos) {
		for n := range whole {
			memo.memos[path] = whole[:n]
			if got, err := workspace.Load(fsys, "", memo); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%s cut at %d of %d: %+v, %v", path, n, len(whole), got, err)
			}
		}
		memo.memos[path] = append(bytes.Clone(whole), 0)
		if got, err := workspace.Load(fsys, "", memo); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s with a byte too many: %+v, %v", path, got, err)
		}
	}
}

// many is a workspace of n components in the shape of real ones.
func many(n int) fstest.MapFS {
	fsys := fstest.MapFS{contextPath: {Data: []byte("name: shop\nregistry: {}\namqp: amqp://localhost\n")}}
	for i := range n {
		fsys[fmt.Sprintf("components/c%d/manifest.toa.yaml", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, `namespace: store
name: c%d
entity: {schema: {properties: {id: string, total: number, paid: boolean}}}
operations:
  transit: {concurrency: none, input: {total: .}}
  observe: {query: true}
receivers: {store.c%d.created: transit}
exposition: {/:id: {GET: observe}}
rc: {}
`, i, (i+1)%n)}
	}
	return fsys
}

func TestManyAreInOrder(t *testing.T) {
	fsys := many(100)
	first := load(t, fsys, "")
	if len(first.Components) != 100 || len(first.Notices) != 1 || len(first.Notices[0].Positions) != 100 {
		t.Fatalf("%d components, notices %v, want 100 with one notice of rc", len(first.Components), first.Notices)
	}
	for range 5 {
		if again := load(t, fsys, ""); !reflect.DeepEqual(first, again) {
			t.Fatal("two loads differ")
		}
	}
}

// direct spares the benchmark MapFS's search for a directory whenever a file
// does not exist.
type direct struct{ fstest.MapFS }

func (d direct) Stat(name string) (fs.FileInfo, error) {
	if strings.Count(name, "/") > 1 && d.MapFS[name] == nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return d.MapFS.Stat(name)
}

func BenchmarkLoad(b *testing.B) {
	benchmark(b, direct{many(1000)}, nil, 1000)
}

func BenchmarkLoadMemo(b *testing.B) {
	benchmark(b, direct{many(10_000)}, newMemory(), 10_000)
}

// BenchmarkLoadMemoDisk has the system calls as well.
func BenchmarkLoadMemoDisk(b *testing.B) {
	root := b.TempDir()
	if err := os.CopyFS(root, many(1000)); err != nil {
		b.Fatal(err)
	}
	benchmark(b, os.DirFS(root), newMemory(), 1000)
}

func benchmark(b *testing.B, fsys fs.FS, memo workspace.Memo, n float64) {
	b.Helper()
	load := func() {
		if _, err := workspace.Load(fsys, "", memo); err != nil {
			b.Fatal(err)
		}
	}
	load()
	for b.Loop() {
		load()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/manifest")
}
