package bazel_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// locked is a repository of npm's with one lockfile, whole and with files of it
// left out of srcs.
var locked = map[string]string{
	"BUILD": `
load("@toa//bazel:defs.bzl", "toa_graph", "toa_tags", "toa_workspace")

ALL = glob(["components/**", "libs/**"])

[toa_workspace(
    name = name + "_workspace",
    srcs = ALL + more,
    context = "context.toa.yaml",
) for name, more in {
    "whole": ["package.json", "package-lock.json", ".npmrc"],
    "unlocked": ["package.json"],
    "unlisted": ["package-lock.json"],
    "bare": [],
}.items()]

[toa_tags(name = name, workspace = name + "_workspace") for name in ["whole", "unlocked", "unlisted", "bare"]]

toa_graph(name = "repository", workspace = ":unlocked_workspace")
`,
	"context.toa.yaml": "name: locked\nregistry: {platforms: [linux/amd64], build: {image: scratch}}\nresources: ~\n",
	"package.json":     `{"name": "locked", "private": true, "workspaces": ["libs/*", "components/*"]}`,
	".npmrc":           "registry=http://127.0.0.1:1\n",
	"package-lock.json": `{"lockfileVersion": 3, "packages": {
		"": {"name": "locked", "workspaces": ["libs/*", "components/*"]},
		"components/orders": {"version": "1.0.0", "dependencies": {"left": "1", "shared": "^1.0.0"}},
		"components/users": {"version": "1.0.0", "dependencies": {"right": "1"}},
		"libs/shared": {"version": "1.0.0", "dependencies": {"left": "2"}},
		"node_modules/left": {"version": "1.0.0"}, "node_modules/right": {"version": "1.0.0"},
		"libs/shared/node_modules/left": {"version": "2.0.0"},
		"node_modules/orders": {"resolved": "components/orders", "link": true},
		"node_modules/users": {"resolved": "components/users", "link": true},
		"node_modules/shared": {"resolved": "libs/shared", "link": true}}}`,
	"components/orders/manifest.toa.yaml": "name: orders\n",
	"components/orders/package.json":      `{"name": "orders", "version": "1.0.0", "dependencies": {"left": "1", "shared": "^1.0.0"}}`,
	"components/users/manifest.toa.yaml":  "name: users\n",
	"components/users/package.json":       `{"name": "users", "version": "1.0.0", "dependencies": {"right": "1"}}`,
	"libs/shared/package.json":            `{"name": "shared", "version": "1.0.0", "dependencies": {"left": "2"}}`,
	"libs/shared/index.js":                "exports.shared = 1\n",
}

// packages are locked by the lockfile of their repository, as in a shell: where
// it is not declared, nothing else is made instead.
func (b *bazel) packages(t *testing.T) {
	dir := filepath.Join(b.workspace, "locked")
	writeFiles(t, dir, locked)
	before := b.sameTags(t, dir)
	const orders, users = "composition/default-orders", "composition/default-users"
	for _, edit := range []struct{ path, old, now, moves, stays string }{
		{"package-lock.json", `"node_modules/right": {"version": "1.0.0"`, `"node_modules/right": {"version": "1.0.1"`, users, orders},
		{"libs/shared/index.js", "1", "2", orders, users},
	} {
		writeFiles(t, dir, map[string]string{edit.path: strings.Replace(locked[edit.path], edit.old, edit.now, 1)})
		after := b.sameTags(t, dir)
		if tagOf(t, after, edit.moves) == tagOf(t, before, edit.moves) || tagOf(t, after, edit.stays) != tagOf(t, before, edit.stays) {
			t.Errorf("an edit of %s: tags were\n%s\nand are\n%s\nwant another one of %s only", edit.path, before, after, edit.moves)
		}
		writeFiles(t, dir, map[string]string{edit.path: locked[edit.path]})
	}

	const unlocked = "components/orders/package.json has dependencies and no lockfile: expected package-lock.json among the srcs of toa_workspace"
	wants(t, b.run(t, b.workspace, "build", "//locked:unlocked").stderr, unlocked)
	wants(t, b.run(t, b.workspace, "run", "//locked:repository.plan").stderr, unlocked)
	wants(t, b.run(t, b.workspace, "build", "//locked:unlisted").stderr, "expected package.json among the srcs of toa_workspace")
	wants(t, b.run(t, b.workspace, "build", "//locked:bare").stderr, "expected components/orders/package-lock.json among the srcs of toa_workspace")
}

// sameTags compares the tags that Bazel makes with toa's own, and returns them.
func (b *bazel) sameTags(t *testing.T, dir string) string {
	t.Helper()
	b.must(t, "build", "//locked:whole")
	made, want := read(t, b.bin("locked/whole.json")), b.plain(t, dir, "export", "tags", "-o", "json")
	if made != want {
		t.Fatalf("tags are\n%s\ntoa makes\n%s", made, want)
	}
	return made
}
