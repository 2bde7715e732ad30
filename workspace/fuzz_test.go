package workspace_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"toa.io/toa/document"
	"toa.io/toa/test/corpus"
	"toa.io/toa/workspace"
)

// assertAnswer checks what holds for whatever a file says: the workspace, or
// errors that have a place, say something and do nothing to a terminal.
func assertAnswer(t *testing.T, w *workspace.Workspace, err error) {
	t.Helper()
	if err == nil {
		assertValid(t, w)
		return
	}
	list, ok := errors.AsType[*workspace.Errors](err)
	if !ok || len(list.List) == 0 {
		t.Fatalf("Load: %v (%T), want *Errors that hold some", err, err)
	}
	for _, one := range list.List {
		if one.File == "" || one.Msg == "" {
			t.Errorf("error without file or message: %#v", one)
		}
	}
	if i := strings.IndexFunc(err.Error(), func(c rune) bool { return unicode.IsControl(c) && c != '\n' }); i >= 0 {
		t.Errorf("control character in %q", err.Error())
	}
}

func assertValid(t *testing.T, w *workspace.Workspace) {
	t.Helper()
	slugs := map[string]bool{}
	for _, c := range w.Compositions {
		if slugs[c.Slug] || len(c.Slug) > 40 || c.Image == "" || len(c.Components) == 0 || c.Replicas < 1 {
			t.Errorf("composition %+v", c)
		}
		slugs[c.Slug] = true
	}
	for _, c := range w.Components {
		if c.ID != c.Namespace+"."+c.Name || c.Label != workspace.Label(c.Namespace, c.Name) || !json.Valid(c.Contract) {
			t.Errorf("component %+v with contract %s", c, c.Contract)
		}
	}
}

func FuzzContext(f *testing.F) {
	corpus.Add(f)
	for _, test := range broken {
		if test.file == contextPath && len(test.text) < 1000 {
			f.Add([]byte(test.text), "")
		}
	}
	f.Add([]byte(completeContext), "dev")
	for _, path := range sharedFiles("*/context.toa.yaml") {
		if data, err := os.ReadFile(path); err == nil {
			f.Add(data, "dev:docker")
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, environment string) {
		fsys := files(contextPath, string(data))
		w, err := workspace.Load(fsys, environment, nil)
		assertAnswer(t, w, err)
	})
}

func FuzzManifest(f *testing.F) {
	corpus.Add(f)
	for _, test := range broken {
		if test.file == manifestPath && len(test.text) < 1000 {
			f.Add([]byte(test.text))
		}
	}
	f.Add([]byte(completeManifest))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := workspace.Load(files(manifestPath, string(data)), "", nil)
		assertAnswer(t, w, err)
	})
}

func FuzzPackage(f *testing.F) {
	corpus.Add(f)
	f.Add([]byte(`{"type": "module", "dependencies": {"a": "1"}}`))
	f.Add([]byte("{\n  \"type\": 1\n}"))
	f.Add([]byte(`{"name": "a", "workspaces": ["**", "!b"], "dependencies": {"a": "workspace:*", "b": "file:../.."}}`))
	f.Add([]byte("\xef\xbb\xbf[]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := workspace.Load(files(packagePath, string(data), "package.json", string(data)), "", nil)
		assertAnswer(t, w, err)
	})
}

// A lock that can be read is written in a form that reads as the same lock.
func FuzzLock(f *testing.F) {
	corpus.Add(f)
	f.Add([]byte("version: 1\nbases:\n  node:24: {linux/amd64: " + digest("a") + "}\n"))
	f.Add([]byte("version: 1\nbases: {}\n"))
	f.Add([]byte("version: 2\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lock, err := workspace.ParseLock(data)
		if err != nil {
			assertAnswer(t, nil, err)
			return
		}
		again, err := workspace.ParseLock(lock.Encode())
		if err != nil {
			t.Fatalf("ParseLock of\n%s: %v", lock.Encode(), err)
		}
		if moves := lock.Moves(again); len(moves) != 0 {
			t.Fatalf("%v moved in\n%s", moves, lock.Encode())
		}
	})
}

// Whatever a memo holds, reading answers; damaged ones cost time only.
func FuzzMemo(f *testing.F) {
	memo := newMemory()
	if _, err := workspace.Load(completeFiles(), "", memo); err != nil {
		f.Fatal(err)
	}
	paths := []string{contextPath, "parts/store.orders/manifest.toa.yaml", "parts/store.orders/package.json"}
	for i, path := range paths {
		f.Add(memo.memos[path], uint8(i))
		f.Add(memo.memos[path][:len(memo.memos[path])/2], uint8(i))
	}
	f.Fuzz(func(t *testing.T, data []byte, which uint8) {
		damaged := newMemory()
		damaged.memos[paths[int(which)%len(paths)]] = data
		if _, err := workspace.Load(completeFiles(), "", damaged); err != nil {
			if _, ok := errors.AsType[*workspace.Errors](err); !ok {
				t.Fatalf("Load: %v, want *Errors", err)
			}
		}
	})
}

func sharedFiles(pattern string) []string {
	paths, _ := filepath.Glob(filepath.Join(shared, pattern))
	return paths
}

// Whatever tree an annotation is, no key of an environment is left in it.
func FuzzOverlay(f *testing.F) {
	corpus.Add(f)
	f.Add("{a@x: 1, a: 2, '@p/q@x': [{b@x@y: ~}]}", "x:y")
	f.Add("[{a@x: {a@y: 1}}]", "y")
	f.Add("{a@: 1}", "")
	f.Add("{<<: {a@x: 1}, a: &z [b@x], c: *z}", "x")
	f.Fuzz(func(t *testing.T, tree, environment string) {
		w, err := workspace.Load(files(contextPath, "name: shop\nregistry: {}\nstash: "+tree), environment, nil)
		assertAnswer(t, w, err)
		if err != nil {
			return
		}
		for _, annotation := range w.Context.Annotations {
			assertNoVariants(t, annotation.Value)
		}
	})
}

func assertNoVariants(t *testing.T, v *document.Value) {
	t.Helper()
	for _, item := range v.Items {
		assertNoVariants(t, item)
	}
	for _, field := range v.Fields {
		if strings.LastIndexByte(field.Key, '@') > 0 && field.Key[0] != '@' {
			t.Errorf("key %q is left", field.Key)
		}
		assertNoVariants(t, field.Value)
	}
}
