package workspace_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"toa.io/toa/test/corpus"
	"toa.io/toa/workspace"
)

// entry is one of a lockfile, as these tests look at it.
type entry struct {
	Version      string            `json:"version,omitempty"`
	Resolved     string            `json:"resolved,omitempty"`
	Link         bool              `json:"link,omitempty"`
	Dev          bool              `json:"dev,omitempty"`
	Optional     bool              `json:"optional,omitempty"`
	InBundle     bool              `json:"inBundle,omitempty"`
	Dependencies map[string]string `json:"dependencies,omitempty"`
	Optionals    map[string]string `json:"optionalDependencies,omitempty"`
	Peers        map[string]string `json:"peerDependencies,omitempty"`
	PeersMeta    map[string]any    `json:"peerDependenciesMeta,omitempty"`
	Development  map[string]string `json:"devDependencies,omitempty"`
}

type lock map[string]entry

// wants is dependencies on anything of these names.
func wants(names ...string) map[string]string {
	all := map[string]string{}
	for _, name := range names {
		all[name] = "*"
	}
	return all
}

func (l lock) encode() []byte {
	data, err := json.Marshal(map[string]any{"lockfileVersion": 3, "packages": l})
	if err != nil {
		panic(err)
	}
	return data
}

// of is the part of a member.
func (l lock) of(t rapid.TB, member string) (lock, *workspace.LockPart) {
	read, err := workspace.ReadRepositoryLock(l.encode())
	if err != nil {
		t.Fatal(err)
	}
	part := read.Part(member)
	if part == nil {
		t.Fatalf("no part for %s", member)
	}
	var says struct{ Packages lock }
	if err := json.Unmarshal(part.Lockfile, &says); err != nil {
		t.Fatal(err)
	}
	return says.Packages, part
}

func TestPartOfTheLockfileOfARepository(t *testing.T) {
	link := func(dir string) entry { return entry{Resolved: dir, Link: true} }
	for _, row := range []struct {
		name       string
		have, want lock
	}{
		{
			"what is reached",
			lock{
				"": {}, "app": {Version: "1.0.0", Dependencies: wants("a"), Development: wants("dev")},
				"node_modules/a": {Version: "1.0.0", Dependencies: wants("b")}, "node_modules/b": {Version: "1.0.0"},
				"node_modules/dev": {Version: "1.0.0", Dev: true}, "node_modules/other": {Version: "1.0.0"},
			},
			lock{"": {Version: "1.0.0", Dependencies: wants("a")}, "node_modules/a": {Version: "1.0.0", Dependencies: wants("b")}, "node_modules/b": {Version: "1.0.0"}},
		},
		{
			"optional by our way only",
			lock{
				"app": {Dependencies: wants("a", "absent"), Optionals: wants("b", "gone")}, "node_modules/a": {Optionals: wants("c")},
				"node_modules/b": {Dependencies: wants("c", "d"), Dev: true}, "node_modules/c": {}, "node_modules/d": {Dependencies: wants("a")},
			},
			lock{
				"": {Dependencies: wants("a", "absent"), Optionals: wants("b", "gone")}, "node_modules/a": {Optionals: wants("c")},
				"node_modules/b": {Optional: true, Dependencies: wants("c", "d")}, "node_modules/c": {Optional: true}, "node_modules/d": {Optional: true, Dependencies: wants("a")},
			},
		},
		{
			"peers, but for those that it can do without",
			lock{
				"app": {Peers: wants("a", "b"), PeersMeta: map[string]any{"b": map[string]any{"optional": true}}}, "node_modules/a": {}, "node_modules/b": {},
			},
			lock{"": {Peers: wants("a", "b"), PeersMeta: map[string]any{"b": map[string]any{"optional": true}}}, "node_modules/a": {}},
		},
		{
			"another version at the top",
			lock{
				"app": {Dependencies: wants("a", "b")}, "app/node_modules/a": {Version: "1.0.0"},
				"node_modules/a": {Version: "2.0.0"}, "node_modules/b": {Peers: wants("a")},
			},
			lock{
				"": {Dependencies: wants("a", "b")}, "node_modules/a": {Version: "1.0.0"},
				"node_modules/b": {Dependencies: wants("a")}, "node_modules/b/node_modules/a": {Version: "2.0.0"},
			},
		},
		{
			"neighbours that find another version together",
			lock{
				"app": {Dependencies: wants("a", "lib")}, "app/node_modules/a": {Version: "1.0.0"}, "node_modules/lib": link("libs/lib"),
				"libs/lib": {Dependencies: wants("a", "b", "c")}, "libs/lib/node_modules/c": {},
				"node_modules/a": {Version: "2.0.0"}, "node_modules/b": {Peers: wants("a")},
			},
			lock{
				"": {Dependencies: wants("a", "lib")}, "node_modules/a": {Version: "1.0.0"}, "node_modules/lib": link("libs/lib"),
				"node_modules/lib/node_modules/a": {Version: "2.0.0"}, "node_modules/lib/node_modules/b": {Peers: wants("a")},
				"node_modules/lib/node_modules/c": {},
			},
		},
		{
			"what comes in an archive",
			lock{
				"app": {Dependencies: wants("a")}, "node_modules/a": {Dependencies: wants("b")},
				"node_modules/a/node_modules/b": {InBundle: true, Dependencies: wants("c")}, "node_modules/a/node_modules/c": {InBundle: true}, "node_modules/c": {},
			},
			lock{
				"": {Dependencies: wants("a")}, "node_modules/a": {Dependencies: wants("b")},
				"node_modules/a/node_modules/b": {InBundle: true, Dependencies: wants("c")}, "node_modules/a/node_modules/c": {InBundle: true},
			},
		},
		{
			"versions that the repository overrides",
			lock{"app": {Dependencies: wants("a")}, "node_modules/a": {Dependencies: map[string]string{"b": "^1.0.0", "c": "^1.0.0"}}, "node_modules/b": {Version: "2.0.0"}, "node_modules/c": {Version: "1.1.0"}},
			lock{"": {Dependencies: wants("a")}, "node_modules/a": {Dependencies: map[string]string{"b": "2.0.0", "c": "^1.0.0"}}, "node_modules/b": {Version: "2.0.0"}, "node_modules/c": {Version: "1.1.0"}},
		},
		{
			"a circle through the member itself",
			lock{"app": {Dependencies: wants("lib")}, "node_modules/app": link("app"), "node_modules/lib": link("lib"), "lib": {Dependencies: wants("app")}},
			lock{"": {Dependencies: wants("lib")}, "node_modules/app": link("app"), "node_modules/lib": link("lib")},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, part := row.have.of(t, "app")
			if !reflect.DeepEqual(got, row.want) {
				t.Errorf("Part: got %s", part.Lockfile)
			}
			for name, dir := range part.Links {
				if row.want["node_modules/"+name].Resolved != dir {
					t.Errorf("Links: %s leads to %s", name, dir)
				}
			}
			others := lock{"node_modules/stranger": {Version: "1.0.0"}}
			for at, one := range row.have {
				others[at] = one
			}
			if _, again := others.of(t, "app"); again.Digest() != part.Digest() {
				t.Error("Digest: another component's package moves it")
			}
		})
	}
}

func TestStrangersToALockfile(t *testing.T) {
	read, err := workspace.ReadRepositoryLock(lock{"": {}, "app": {}}.encode())
	if err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{"", "other", "app/below"} {
		if part := read.Part(member); part != nil {
			t.Errorf("Part(%q): %s", member, part.Lockfile)
		}
	}
}

// find is how Node finds a package from a place.
func (l lock) find(from, name string) string {
	for {
		place := path.Join(from, "node_modules", name)
		if _, ok := l[place]; ok {
			return place
		}
		if from == "" || from == "." {
			return ""
		}
		from = path.Dir(from)
	}
}

// Whatever a repository looks like, everybody finds in the image what they
// found there.
func TestEverybodyFindsWhatTheyFound(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	rapid.Check(t, func(t *rapid.T) {
		have := lock{"app": {Version: "app"}, "lib": {Version: "lib"}, "node_modules/lib": {Resolved: "lib", Link: true}}
		for _, dir := range []string{"", "app/", "lib/", "node_modules/a/", "node_modules/b/", "app/node_modules/a/"} {
			for _, name := range names {
				if parent := strings.TrimSuffix(dir, "/"); parent != "" && have[parent].Version == "" {
					break
				}
				if place := dir + "node_modules/" + name; rapid.Bool().Draw(t, place) {
					have[place] = entry{Version: place}
				}
			}
		}
		for _, place := range slices.Sorted(maps.Keys(have)) {
			one := have[place]
			if !one.Link {
				picked := rapid.SliceOfNDistinct(rapid.SampledFrom(append(names, "lib")), 0, 2, rapid.ID[string]).Draw(t, "needs of "+place)
				one.Dependencies = wants(picked...)
				have[place] = one
			}
		}
		got, part := have.of(t, "app")
		if len(got) > 8*len(have) {
			t.Skip("a circle that no tree can hold")
		}
		agree(t, have, got, "app", "", map[string]bool{})
		if again, _ := have.of(t, "app"); !reflect.DeepEqual(got, again) {
			t.Fatalf("another part of the same lockfile: %s", part.Lockfile)
		}
	})
}

// agree compares what two places find, and what those find in turn.
func agree(t *rapid.T, have, got lock, was, is string, seen map[string]bool) {
	if seen[was+" "+is] {
		return
	}
	seen[was+" "+is] = true
	from, says := was, have[was]
	if says.Link {
		from, says = says.Resolved, have[says.Resolved]
	}
	for name := range says.Dependencies {
		before, now := have.find(from, name), got.find(is, name)
		if before == "" {
			continue // npm would not have left it like that
		}
		if now == "" || have[before].Version != got[now].Version || have[before].Resolved != got[now].Resolved {
			t.Fatalf("%s at %q finds %q for %s, and not %q", was, is, now, name, before)
		}
		agree(t, have, got, before, now, seen)
	}
}

func FuzzRepositoryLock(f *testing.F) {
	corpus.Add(f)
	f.Add(lock{"app": {Dependencies: wants("a"), Peers: wants("b")}, "node_modules/a": {}, "app/node_modules/b": {Dependencies: wants("a")}}.encode())
	f.Add([]byte(`{"packages": {"app": {"dependencies": {"a": "1"}, "peerDependencies": null}, "node_modules/a": {"resolved": "../a", "link": true}, "../a": null}}`))
	f.Add([]byte(`{"packages": {"app": {"dependencies": {"..": "1", "": ""}}, "node_modules/a": [], "node_modules/..": {"inBundle": true}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		read, err := workspace.ReadRepositoryLock(data)
		if err != nil {
			return
		}
		if part := read.Part("app"); part != nil && !json.Valid(part.Lockfile) {
			t.Errorf("Part: %q", part.Lockfile)
		}
	})
}

func ExampleSatisfies() {
	fmt.Println(workspace.Satisfies("1.2.3", "^1.0.0"), workspace.Satisfies("1.2.3", "latest"))
	// Output: true false
}
