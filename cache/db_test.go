package cache

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

func TestWrittenBy(t *testing.T) {
	const me, root, other = 1000, 0, 1001
	tests := map[string]struct {
		owner int
		mode  uint32
		want  bool
	}{
		"mine":                           {me, 0o700, true},
		"mine, others may read":          {me, 0o755, true},
		"mine, my group may write":       {me, 0o770, false},
		"mine, everybody may write":      {me, 0o757, false},
		"with a sticky bit all the same": {me, 0o1777, false},
		"root's":                         {root, 0o755, true},
		"root's, everybody may write":    {root, 0o1777, false},
		"another user's":                 {other, 0o700, false},
	}
	for name, test := range tests {
		if err := writtenBy(me, test.owner, test.mode); (err == nil) != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What another version of toa keeps in the file is neither read nor judged: it
// is there after everything that this one does.
func TestRowsOfOtherVersionsStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db", "index.db")
	db := OpenDB(path, func(w string) { t.Error("warning:", w) })
	newer := []byte("published/v9")
	err := db.update(func(tx *bbolt.Tx) error {
		return (write{newer, []byte("name"), []byte("sealed in another way")}).apply(tx)
	})
	if err != nil {
		t.Fatal(err)
	}
	x := probe{NewIndex(db)}
	for n := range 3 {
		if err := x.put(n, n+1); err != nil {
			t.Fatal(err)
		}
	}
	if done, err := x.Prune(Keep{Count: 1}, time.Now()); err != nil || done.Dropped != 2 {
		t.Errorf("Prune: %+v, %v", done, err)
	}
	spoil(t, path, versionDigest(2, 3))
	if v, err := db.Verify(); err != nil || v.Damaged != 1 {
		t.Errorf("Verify: %+v, %v", v, err)
	}
	err = db.view(func(tx *bbolt.Tx) error {
		if b := tx.Bucket(newer); b == nil || string(b.Get([]byte("name"))) != "sealed in another way" {
			t.Error("the row of another version is gone")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// spoil changes what a file says, wherever it says it.
func spoil(t *testing.T, path, text string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(data, []byte(text)) {
		t.Fatalf("%s does not hold %s: %v", path, text, err)
	}
	data = bytes.ReplaceAll(data, []byte(text), bytes.Repeat([]byte("x"), len(text)))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A link leads to the directory that counts, whoever may have made what is there.
func TestLinkedDirectories(t *testing.T) {
	for name, mode := range map[string]os.FileMode{"private": 0o700, "others can write there": 0o777} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			must(os.Mkdir(filepath.Join(top, "real"), mode))
			must(os.Chmod(filepath.Join(top, "real"), mode))
			must(os.Symlink("real", filepath.Join(top, "db")))
			warnings := 0
			x := probe{NewIndex(OpenDB(filepath.Join(top, "db", "index.db"), func(string) { warnings++ }))}
			err := x.put(1, 1)
			again := probe{NewIndex(OpenDB(filepath.Join(top, "db", "index.db"), nil))}
			if private := mode == 0o700; (err == nil) != private || (again.digest(1) != "") != private || (warnings == 0) != private {
				t.Errorf("put: %v; read back %q; %d warnings", err, again.digest(1), warnings)
			}
		})
	}
}

// Times that are not past mean that a clock was wrong, and protect nothing.
func TestRecently(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	for ago, want := range map[time.Duration]bool{
		0: true, time.Minute: true, -time.Minute: true, 2 * time.Hour: false, -365 * 24 * time.Hour: false,
	} {
		if got := recently(now.Add(-ago), now); got != want {
			t.Errorf("used %s ago: %t, want %t", ago, got, want)
		}
	}
}
