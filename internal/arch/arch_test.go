package arch_test

import (
	"os"
	"testing"

	"toa.io/toa/internal/arch"
)

// house is the map of this repository: every package, what it may import, and
// who owns the modules that are heavy or decide a format. Change it on purpose,
// with the reason in the commit.
var house = arch.Law{
	Module: "toa.io/toa",
	Rooms: map[string]arch.Room{
		"graph":     {},
		"cache":     {Imports: []string{"internal/blake3wide", "internal/durable", "internal/failpoint"}},
		"templates": {Imports: []string{"internal/lazyregexp"}},

		"document": {Imports: []string{"internal/lazyregexp"}},

		"workspace":         {Imports: []string{"internal/lazyregexp", "document", "graph"}},
		"extensions":        {Imports: []string{"internal/lazyregexp", "workspace", "document", "graph"}},
		"extensions/bridge": {Imports: []string{"extensions", "workspace", "document"}},
		"chart":             {Imports: []string{"internal/lazyregexp", "workspace", "extensions", "document", "graph"}},

		"orchestrator": {Imports: []string{"internal/lazyregexp", "internal/failpoint", "workspace", "graph", "cache", "templates", "chart"}},

		"images":          {Imports: []string{"internal/lazyregexp", "internal/durable", "internal/failpoint", "orchestrator", "workspace", "graph", "cache", "templates"}},
		"images/buildkit": {Imports: []string{"images", "orchestrator", "graph", "cache", "templates"}},
		"images/docker":   {Imports: []string{"internal/lazyregexp", "images", "orchestrator", "cache", "templates"}},

		"release":         {Imports: []string{"internal/lazyregexp", "internal/durable", "internal/failpoint", "chart", "orchestrator", "workspace", "document", "cache"}},
		"release/cluster": {Imports: []string{"internal/failpoint", "release", "chart", "orchestrator", "workspace", "cache"}},

		"registry": {},

		"internal/blake3wide": {},
		"internal/durable":    {Imports: []string{"internal/failpoint"}},
		"internal/failpoint":  {},
		"internal/lazyregexp": {},
		"internal/sources":    {},

		"internal/ui":  {Imports: []string{"orchestrator", "graph"}},
		"internal/sdk": {Imports: []string{"registry", "release/cluster", "images/buildkit", "images", "release", "chart", "orchestrator", "workspace", "cache"}},
		"internal/cli": {Imports: []string{"*"}},
		"cmd/toa":      {Imports: []string{"internal/cli"}},

		"internal/arch": {},

		"internal/enginetest": {},
		"internal/faultproxy": {},
		"internal/kubetest":   {},
		"internal/npmtest":    {},
		"internal/tokentest":  {},
		"internal/treetest":   {Imports: []string{"cache"}},

		"bench/fleet":       {Imports: []string{"cache", "images", "orchestrator", "templates"}},
		"bench/generate":    {},
		"bench/hash":        {Imports: []string{"cache"}},
		"bench/openread":    {},
		"bench/rebuild":     {},
		"bench/registry":    {},
		"bench/remotewrite": {},
		"bench/run":         {},
		"test/bazel":        {},
		"test/corpus":       {},
		"test/corpus/pack":  {Imports: []string{"test/corpus"}},
		"test/strict":       {},
	},
	Owners: []arch.Owner{
		{Module: "go.etcd.io/bbolt", Rooms: []string{"cache"}},
		{Module: "github.com/zeebo/blake3", Rooms: []string{"cache"}, Tests: []string{"internal/blake3wide"}},

		{Module: "github.com/moby/buildkit", Rooms: []string{"images/buildkit", "internal/enginetest"}},
		{Module: "github.com/tonistiigi/fsutil", Rooms: []string{"images/buildkit"}},
		{Module: "github.com/containerd", Rooms: []string{"images/buildkit"}, Tests: []string{"images"}},
		{
			Module: "github.com/google/go-containerregistry",
			Rooms:  []string{"images", "bench/fleet", "bench/remotewrite", "internal/enginetest"},
			Tests:  []string{"cmd/toa", "internal/cli", "images/buildkit", "images/docker", "bench/rebuild"}, // they link it already, through images
		},

		{Module: "helm.sh/helm/v3", Rooms: []string{"release/cluster"}, Tests: []string{"release", "images", "cmd/toa"}},
		{Module: "k8s.io", Rooms: []string{"release/cluster", "internal/kubetest"}, Tests: []string{"release", "cmd/toa"}},
		{Module: "sigs.k8s.io", Rooms: []string{"release/cluster"}, Tests: []string{"release"}},

		{Module: "github.com/spf13/cobra", Rooms: []string{"internal/cli"}},
		{Module: "github.com/spf13/pflag", Rooms: []string{"internal/cli"}},
		{Module: "github.com/vbauerster/mpb/v8", Rooms: []string{"internal/ui"}},
		{Module: "golang.org/x/term", Rooms: []string{"internal/ui", "internal/cli"}},

		{Module: "github.com/Masterminds/semver/v3", Rooms: []string{"workspace"}},
		{Module: "go.yaml.in/yaml", Rooms: []string{"document"}, Tests: []string{"*"}},
		{Module: "github.com/distribution/distribution/v3", Rooms: []string{"registry", "internal/enginetest", "bench/registry"}, Tests: []string{"*"}},

		{Module: "github.com/bazelbuild/rules_go", Rooms: []string{"internal/cli"}},
		{Module: "github.com/rhysd/actionlint", Tests: []string{"internal/cli"}},

		{Module: "go.starlark.net", Tests: []string{"internal/arch"}},
		{Module: "github.com/rogpeppe/go-internal", Rooms: []string{"release/cluster", "test/corpus", "test/corpus/pack"}, Tests: []string{"*"}},
		{Module: "pgregory.net/rapid", Tests: []string{"*"}},
	},
	Banned: []string{
		"util", "utils", "common", "helper", "helpers", "type", "types",
		"model", "models", "misc", "shared", "lib", "tools",
	},
}

func TestTheHouse(t *testing.T) {
	violations, err := arch.Check(os.DirFS("../.."), house)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Error(v)
	}
}

// An owner or an import that names no room guards nothing.
func TestTheTableNamesRooms(t *testing.T) {
	known := func(room string) bool {
		_, ok := house.Rooms[room]
		return ok || room == "*"
	}
	for name, room := range house.Rooms {
		for _, i := range room.Imports {
			if !known(i) {
				t.Errorf("room %s may import %s, which is no room", name, i)
			}
		}
	}
	for _, o := range house.Owners {
		for _, room := range append(o.Rooms, o.Tests...) {
			if !known(room) {
				t.Errorf("module %s is owned by %s, which is no room", o.Module, room)
			}
		}
	}
}
