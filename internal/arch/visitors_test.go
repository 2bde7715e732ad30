package arch_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"toa.io/toa/internal/arch"
)

func TestVisitors(t *testing.T) {
	tree := fstest.MapFS{}
	for name, text := range map[string]string{
		"low/low.go":         "package low",
		"high/high.go":       `package high; import _ "example.com/low"`,
		"other/other.go":     "package other",
		"other/it_test.go":   `package other; import _ "example.com/high"`,
		"wiring/wiring.go":   "package wiring",
		"wiring/own_test.go": `package wiring_test; import _ "example.com/wiring"`,
	} {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	law := arch.Law{Module: "example.com", Rooms: map[string]arch.Room{
		"low": {}, "high": {Imports: []string{"low"}}, "other": {}, "wiring": {Imports: []string{"*"}},
	}}
	got, err := arch.Visitors(tree, law)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"low": {"high", "wiring"}, "high": {"other", "wiring"}, "other": {"wiring"}}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("Visitors = %q, want %q", got, want)
	}
}

// What the table says, Bazel is told too.
func TestBuildFilesShowRoomsToVisitors(t *testing.T) {
	visitors, err := arch.Visitors(os.DirFS("../.."), house)
	if err != nil {
		t.Fatal(err)
	}
	for _, room := range slices.Sorted(maps.Keys(house.Rooms)) {
		checkVisibility(t, filepath.Join("../..", filepath.FromSlash(room), "BUILD.bazel"), visibility(visitors[room]))
	}
}

// libraryVisibility is that of a go_library, as gazelle and buildifier write it.
var libraryVisibility = regexp.MustCompile(`(?s)(\ngo_library\(\n(?:    [^\n]*\n)*?    visibility = )(\[[^\]]*\])`)

// visibility is a list of packages, as buildifier writes it.
func visibility(rooms []string) string {
	switch len(rooms) {
	case 0:
		return `["//visibility:private"]`
	case 1:
		return fmt.Sprintf(`["//%s:__pkg__"]`, rooms[0])
	}
	var list strings.Builder
	list.WriteString("[\n")
	for _, room := range rooms {
		fmt.Fprintf(&list, "        %q,\n", "//"+room+":__pkg__")
	}
	list.WriteString("    ]")
	return list.String()
}

func checkVisibility(t *testing.T, path, want string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is missing: run make build-files", path)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	found := libraryVisibility.FindSubmatch(data)
	if len(found) == 0 || string(found[2]) == want {
		return // a room of tests alone has no library
	}
	if !*update {
		t.Errorf("%s has visibility = %s\nthe table says %s: run make build-files", path, found[2], want)
		return
	}
	shown := libraryVisibility.ReplaceAll(data, append([]byte("${1}"), want...))
	if err := os.WriteFile(path, shown, 0o644); err != nil {
		t.Fatal(err)
	}
}
