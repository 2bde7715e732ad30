package workspace_test

import (
	"errors"
	"strings"
	"testing"

	"toa.io/toa/workspace"
)

func TestErrorHasAHint(t *testing.T) {
	_, err := workspace.Load(files(contextPath, "nmae: shop\nname: shop\nregistry: {}\n"), "", nil)
	list, ok := errors.AsType[*workspace.Errors](err)
	if !ok || len(list.List) != 1 {
		t.Fatalf("Load: %v, want one error", err)
	}
	if got, want := list.List[0].Hint(), `did you mean "name"?`; got != want {
		t.Errorf("Hint = %q, want %q", got, want)
	}
}

func TestPositionIsHarmless(t *testing.T) {
	tests := []struct {
		position workspace.Position
		want     string
	}{
		{workspace.Position{File: "a/b"}, "a/b"},
		{workspace.Position{File: "a/b", Line: 2, Column: 3}, "a/b:2:3"},
		{workspace.Position{File: "ü €.yaml", Line: 1, Column: 1}, "ü €.yaml:1:1"},
		{workspace.Position{File: `a\b`}, `a\b`},
		{workspace.Position{File: "a\x1b[31m"}, `"a\x1b[31m"`},
		{workspace.Position{File: "a\nb"}, `"a\nb"`},
	}
	for _, test := range tests {
		if got := test.position.String(); got != test.want {
			t.Errorf("%#v is shown as %s, want %s", test.position, got, test.want)
		}
	}
}

func TestLongTextIsCut(t *testing.T) {
	long := strings.Repeat("ä", 5000)
	_, err := workspace.Load(files(contextPath, "registry: {}\nname: "+long+"\n"), "", nil)
	if err == nil || len(err.Error()) > 300 || !strings.HasSuffix(err.Error(), "ä\"…") {
		t.Errorf("Load: %v", err)
	}
}

// An error must not tell what a workspace may keep to itself.
func TestSecretsAreNotShown(t *testing.T) {
	for _, text := range []string{
		"registry: 'me:hunter2@example.com'",
		"registry: {build: {image: 'https://me:hunter2@example.com/x'}}",
		"registry: {}\nruntime: {proxy: 'http://me:hunter2@proxy'}",
		"registry: {}\nruntime: {proxy: 'me:hunter2@proxy'}",
		"registry: {}\nruntime: 'me:hunter2@proxy'",
		"registry: {}\natomicity: {redis: {url: 'redis://me:hunter2@redis'}}",
		"registry: {}\natomicity: {redis: [{url: 'redis://me:hunter2@redis'}]}",
		"registry: {}\ningress: 'me:hunter2@x'",
		"registry: {}\nannotations: 'me:hunter2@x'",
		"registry: {}\namqp: amqp://me:hunter2@x\n  y: z",
	} {
		_, err := workspace.Load(files(contextPath, "name: shop\n"+text+"\n"), "", nil)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Load of %s: %v", text, err)
		}
	}
}
