package cache

import (
	"testing"
	"time"
)

// A file that may still change within the granularity of its times is not
// known by its stamp (git's racily-clean rule).
func TestSettled(t *testing.T) {
	const second = int64(time.Second)
	const now = 1_000_000*second + 7
	tests := map[string]struct {
		mtime, ctime int64
		want         bool
	}{
		"old":                                   {now - 10*second, now - 10*second, true},
		"changed now":                           {now, now, false},
		"changed within the granularity":        {now - int64(fineGranularity)/2, now - 10*second, false},
		"renamed within the granularity":        {now - 10*second, now - int64(fineGranularity)/2, false},
		"just outside":                          {now - int64(fineGranularity), now - 10*second, true},
		"in the future":                         {now + 10*second, now - 10*second, false},
		"whole seconds, within two of them":     {now - 7 - second, now - 7 - second, false},
		"whole seconds, before that":            {now - 7 - 2*second, now - 7 - 2*second, true},
		"one of the two is of a whole second":   {now - 7 - second, now - second, true},
		"the epoch, as some build tools set it": {0, now - 10*second, true},
	}
	for name, test := range tests {
		if got := (stamp{mtime: test.mtime, ctime: test.ctime}).settled(now); got != test.want {
			t.Errorf("%s: settled = %t, want %t", name, got, test.want)
		}
	}
}

func TestStaysInside(t *testing.T) {
	for _, test := range []struct {
		link, target string
		want         bool
	}{
		{"l", "a", true},
		{"l", "./a/./b", true},
		{"d/l", "../a", true},
		{"d/e/l", "../../a", true},
		{"d/l", "../../a", false},
		{"l", "..", false},
		{"l", "/a", false},
		{"l", "", false},
		{"l", "a/../b", false},
		{"l", "a/../../b", false},
		{"d/l", "..//..", false},
		{"d/l", "..", true},
	} {
		if got := staysInside(test.link, test.target); got != test.want {
			t.Errorf("staysInside(%q, %q) = %t, want %t", test.link, test.target, got, test.want)
		}
	}
}

// Stored bytes of any shape are read without a panic, and a record under
// another key or with any bit changed is refused.
func FuzzRecords(f *testing.F) {
	s := &scanned{
		places: []place{{path: "", settled: true}},
		files:  []found{{File: File{Path: "a"}}, {File: File{Path: "l", Kind: Symlink, Link: "a"}, flags: flagLink}},
	}
	f.Add(s.pack([]byte("rules")))
	f.Add(packSingles(map[string]single{"a": {memo: []byte("m")}, "b": {absent: true}}))
	f.Add(packEntry(Entry{Digest: "sha256:1", Platforms: []string{"linux/amd64"}}))
	f.Add(packInputs([]Input{{"a", "b"}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		l := &listing{payload: data}
		l.each(func([]byte, stamp) bool { return true })
		l.madeBy([]byte("rules"))
		l.digest("a")
		_ = l.root()
		_ = l.tree().Files()
		unpackSingles(data)
		_, _ = unpackEntry(data)
		_, _ = unpackInputs(data)
		sealed := seal([]byte("key"), data)
		if _, err := unseal([]byte("key"), sealed); err != nil {
			t.Fatalf("own record refused: %v", err)
		}
		if _, err := unseal([]byte("kez"), sealed); err == nil {
			t.Fatal("a record under another key was taken")
		}
		sealed[len(sealed)/2] ^= 1
		if _, err := unseal([]byte("key"), sealed); err == nil {
			t.Fatal("a changed record was taken")
		}
	})
}
