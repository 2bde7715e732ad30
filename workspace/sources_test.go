package workspace_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"toa.io/toa/workspace"
)

const orders = "components/store.orders/"

func TestDiscover(t *testing.T) {
	tests := []struct {
		name, manifest string
		files          []string
		want           string
	}{
		{"nothing", "", nil, "[] [] [] []"},
		{"directories", "", []string{"operations/get.js", "operations/set.mjs", "events/made.ts", "guards/own.cts", "receivers/a.b.made.sh"}, "[get set] [made] [own] [{a.b.made }]"},
		{"files aside", "", []string{"operations/get.test.js", "operations/get.spec.ts", "operations/get.d.ts", "operations/.x.js", "operations/README.md", "operations/lib/x.js", "lib/y.js"}, "[] [] [] []"},
		{"no directories", "", []string{"operations", "events"}, "[] [] [] []"},
		{"in the manifest too", "operations: {get: ~}\nevents: {made: ~}\nguards: {own: ~}", []string{"operations/get.js", "events/made.js", "events/gone.js", "guards/own.js"}, "[get] [gone made] [own] []"},
		{"receivers in the manifest too", "receivers: {a.b.made: {source: x}, b.made: get}", []string{"receivers/a.b.made.js", "receivers/b.made.js", "receivers/c.made.js"}, "[] [] [] [{a.b.made x} {default.b.made } {default.c.made }]"},
		{"entity", "entity: {}", []string{"events/made.js"}, "[] [created deleted made sync updated] [] []"},
		{"entity without a prototype", "entity: {}\nprototype: ~", nil, "[] [] [] []"},
		{"migrations", "entity: {}", []string{"migrations/001.yaml", "migrations/002.json", "migrations/README.md"}, "[] [created deleted sync updated] [] []"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fsys := files(manifestPath, "namespace: store\nname: orders\n"+test.manifest+"\n")
			for _, name := range test.files {
				fsys[orders+name] = files()[manifestPath]
			}
			w := load(t, fsys, "")
			for range 2 {
				if err := w.Discover(fsys); err != nil {
					t.Fatal(err)
				}
				c := w.Components[0]
				if got := fmt.Sprint(c.Operations, c.Events, c.Guards, c.Receivers); got != test.want {
					t.Errorf("discovered %s, want %s", got, test.want)
				}
			}
		})
	}
}

func TestDiscoverMistakes(t *testing.T) {
	tests := []struct {
		name, manifest string
		files          []string
		want           string
	}{
		{"migrations without an entity", "", []string{"migrations/1.yml"}, "migrations: component \"store.orders\" has migrations and no entity, expected both or neither\n    declare the entity in the manifest, or remove the directory"},
		{"migrations of one name", "entity: {}", []string{"migrations/1.yml", "migrations/1.yaml", "migrations/1.json", "migrations/2.json"}, "migrations: several migrations are named \"1\", expected names of their own\n    keep one of them"},
		{"space in a name", "", []string{"operations/do it.js"}, "operations/do it.js: the name of the file has spaces or control characters, expected a name without\n    rename the file"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fsys := files(manifestPath, "namespace: store\nname: orders\n"+test.manifest+"\n")
			for _, name := range test.files {
				fsys[orders+name] = files()[manifestPath]
			}
			err := load(t, fsys, "").Discover(fsys)
			if want := orders + test.want; err == nil || err.Error() != want {
				t.Errorf("Discover: %v, want %s", err, want)
			}
		})
	}
}

func TestDiscoverMany(t *testing.T) {
	fsys := many(200)
	for i := range 200 {
		fsys[fmt.Sprintf("components/c%d/events/made.js", i)] = files()[manifestPath]
	}
	one, two := load(t, fsys, ""), load(t, fsys, "")
	for _, w := range []*workspace.Workspace{one, two} {
		if err := w.Discover(fsys); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(one, two) {
		t.Error("discovering twice differs")
	}
	for _, c := range one.Components {
		if got := strings.Join(c.Events, " "); got != "created deleted made sync updated" {
			t.Fatalf("%s has events %s", c.ID, got)
		}
	}
}

func BenchmarkDiscover(b *testing.B) {
	const n = 1000
	root := b.TempDir()
	if err := os.CopyFS(root, many(n)); err != nil {
		b.Fatal(err)
	}
	fsys := os.DirFS(root)
	w, err := workspace.Load(fsys, "", nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := w.Discover(fsys); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/component")
}
