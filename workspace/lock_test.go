package workspace_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"toa.io/toa/workspace"
)

func digest(letter string) string { return "sha256:" + strings.Repeat(letter, 64) }

func TestLockEncode(t *testing.T) {
	var lock workspace.Lock
	lock.Set("node:24", "linux/arm64", digest("b"))
	lock.Set("node:24", "linux/amd64", digest("a"))
	lock.Set("ghcr.io/toa-io/runtime:1.0.0-alpha.306", "linux/arm/v7", digest("c"))
	want := `# Digests of base images. Written by toa; commit it, and move it with ` + "`toa lock update`" + `.
version: 1
bases:
  "ghcr.io/toa-io/runtime:1.0.0-alpha.306":
    linux/arm/v7: ` + digest("c") + `
  "node:24":
    linux/amd64: ` + digest("a") + `
    linux/arm64: ` + digest("b") + `
`
	if got := string(lock.Encode()); got != want {
		t.Errorf("Encode:\n%s\nwant\n%s", got, want)
	}
	if got, ok := lock.Digest("node:24", "linux/arm64"); got != digest("b") || !ok {
		t.Errorf("Digest = %q, %v, want %q", got, ok, digest("b"))
	}
	if got, ok := lock.Digest("node:24", "linux/386"); got != "" || ok {
		t.Errorf("Digest of what is not pinned = %q, %v", got, ok)
	}
	lock.Remove("node:24")
	if got := lock.References(); !slices.Equal(got, []string{"ghcr.io/toa-io/runtime:1.0.0-alpha.306"}) {
		t.Errorf("References after Remove = %q", got)
	}
}

func TestEmptyLock(t *testing.T) {
	for _, text := range []string{"", "\n", "version: 1\n", "version: 1\nbases: {}\n", string(new(workspace.Lock).Encode())} {
		lock, err := workspace.ParseLock([]byte(text))
		if err != nil || len(lock.References()) != 0 {
			t.Errorf("ParseLock(%q) = %v, %v, want an empty lock", text, lock, err)
		}
	}
}

func TestBrokenLock(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no version", "bases: {}\n", "toa.lock:1:1: version is missing, expected it to be stated"},
		{"other version", "version: 2\n", `toa.lock:1:10: version: expected 1, found "2"`},
		{"unknown key", "version: 1\nbase: {}\n", "toa.lock:2:1: unknown key \"base\", expected bases, version\n    did you mean \"bases\"?"},
		{"list", "version: 1\nbases: []\n", "toa.lock:2:8: bases: expected an object, found a list"},
		{"no platforms", "version: 1\nbases:\n  node:24:\n", "toa.lock:3:3: bases.\"node:24\": expected an object, found null"},
		{"platform", "version: 1\nbases:\n  node:24:\n    arm64: " + digest("a") + "\n", "toa.lock:4:5: bases.\"node:24\".arm64: expected os/arch, os/arch/variant or all as a key"},
		{"digest", "version: 1\nbases:\n  node:24:\n    linux/arm64: sha256:abc\n", `toa.lock:4:18: bases."node:24".linux/arm64: expected sha256: and 64 hex digits, found "sha256:abc"`},
		{"reference", "version: 1\nbases:\n  --rm:\n    linux/arm64: " + digest("a") + "\n", `toa.lock:4:5: bases: expected an image reference as a key, found "--rm"`},
		{
			"platform twice", "version: 1\nbases:\n  a:\n    linux/arm64: " + digest("a") + "\n    linux/arm64: " + digest("b") + "\n",
			"toa.lock:5:5: duplicate key \"linux/arm64\", the first is in line 4\n    keep one of them",
		},
		{"merge conflict", "version: 1\n<<<<<<< ours\nbases: {}\n", "toa.lock:2:1: not YAML: could not find expected ':'"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := workspace.ParseLock([]byte(test.text))
			if _, ok := errors.AsType[*workspace.Errors](err); !ok || err.Error() != test.want {
				t.Errorf("ParseLock: %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestLockMoves(t *testing.T) {
	var before workspace.Lock
	before.Set("a:1", "linux/amd64", digest("1"))
	before.Set("a:1", "linux/arm64", digest("2"))
	before.Set("b:1", "linux/amd64", digest("3"))
	after := before.Clone()
	if moves := before.Moves(after); len(moves) != 0 {
		t.Errorf("Moves to a clone = %v, want none", moves)
	}
	after.Set("a:1", "linux/arm64", digest("4"))
	after.Set("a:0", "linux/amd64", digest("5"))
	after.Remove("b:1")
	want := []workspace.Move{
		{Reference: "a:0", Platform: "linux/amd64", To: digest("5")},
		{Reference: "a:1", Platform: "linux/arm64", From: digest("2"), To: digest("4")},
		{Reference: "b:1", Platform: "linux/amd64", From: digest("3")},
	}
	if moves := before.Moves(after); !reflect.DeepEqual(moves, want) {
		t.Errorf("Moves = %v, want %v", moves, want)
	}
	if got, _ := before.Digest("a:1", "linux/arm64"); got != digest("2") {
		t.Errorf("the clone shares with its original: %s", got)
	}
}

// What is encoded is read back, and equal locks are equal bytes in whatever
// order they were filled.
func TestLockProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type pin struct{ reference, platform, digest string }
		pins := rapid.SliceOfDistinct(rapid.Custom(func(t *rapid.T) pin {
			return pin{
				reference: rapid.StringMatching(`[a-z0-9][!-~äß€😀]{0,40}`).Filter(func(s string) bool { return !strings.Contains(s, "://") }).Draw(t, "reference"),
				platform:  rapid.StringMatching(`[a-z]{1,6}/[a-z0-9_]{1,6}(/v[0-9])?`).Draw(t, "platform"),
				digest:    "sha256:" + rapid.StringMatching(`[0-9a-f]{64}`).Draw(t, "digest"),
			}
		}), func(p pin) string { return p.reference + " " + p.platform }).Draw(t, "pins")
		var lock, reversed workspace.Lock
		for i := range pins {
			lock.Set(pins[i].reference, pins[i].platform, pins[i].digest)
			p := pins[len(pins)-1-i]
			reversed.Set(p.reference, p.platform, p.digest)
		}
		text := lock.Encode()
		if again := reversed.Encode(); string(again) != string(text) {
			t.Fatalf("order shows:\n%s\n%s", text, again)
		}
		read, err := workspace.ParseLock(text)
		if err != nil {
			t.Fatalf("ParseLock: %v of\n%s", err, text)
		}
		if moves := lock.Moves(read); len(moves) != 0 {
			t.Fatalf("read back with moves %v of\n%s", moves, text)
		}
	})
}

func ExampleLock_Moves() {
	var before, after workspace.Lock
	before.Set("node:24", "linux/amd64", "sha256:old")
	after.Set("node:24", "linux/amd64", "sha256:new")
	for _, move := range before.Moves(&after) {
		fmt.Println(move.Reference, move.Platform, move.From, "→", move.To)
	}
	// Output: node:24 linux/amd64 sha256:old → sha256:new
}
