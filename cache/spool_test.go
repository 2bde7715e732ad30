package cache

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const (
	spoolHost = "registry.example.com"
	spoolRepo = "registry.example.com/shop/composition-edge"
)

// shed is a database that can be locked as another process would.
type shed struct {
	t      testing.TB
	path   string
	locked *os.File
}

func newShed(t testing.TB) *shed {
	s := &shed{t: t, path: filepath.Join(t.TempDir(), "db", "index.db")}
	s.must(s.index().put(0, 0))
	s.index().forget(0)
	return s
}

func (s *shed) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

type probe struct{ *Index }

// index opens the database anew, as one who has waited for its lock in vain already.
func (s *shed) index() probe {
	db := OpenDB(s.path, func(w string) { s.t.Error("warning:", w) })
	db.hurried, db.told, db.Volatile = true, true, true
	return probe{NewIndex(db)}
}

func (p probe) put(n, version int) error {
	entry := Entry{Digest: versionDigest(n, version), VerifiedAt: time.Unix(int64(version), 0)}
	return p.Put(spoolHost, spoolRepo, numberKey(n), entry, "composition/edge", []Input{{Label: "n", Value: fmt.Sprint(n)}})
}

func (p probe) forget(n int) { p.Forget(spoolHost, spoolRepo, numberKey(n)) }

func (p probe) digest(n int) string {
	entry, _ := p.Get(spoolHost, spoolRepo, numberKey(n))
	return entry.Digest
}

func numberKey(n int) Key { return Digest(fmt.Append(nil, n)) }

func versionDigest(n, version int) string { return fmt.Sprintf("sha256:%032d%032d", n, version) }

func (s *shed) lock() {
	file, err := os.Open(s.path)
	s.must(err)
	s.must(syscall.Flock(int(file.Fd()), syscall.LOCK_EX))
	s.locked = file
}

func (s *shed) unlock() {
	s.must(s.locked.Close())
	s.locked = nil
}

// files are the contents of the spool, by path, and its paths in order.
func (s *shed) files() (contents map[string][]byte, paths []string) {
	names, err := OpenDB(s.path, nil).spool().names()
	s.must(err)
	contents = map[string][]byte{}
	for _, name := range names {
		path := filepath.Join(s.path+".spool", name)
		data, err := os.ReadFile(path)
		s.must(err)
		contents[path], paths = data, append(paths, path)
	}
	return contents, paths
}

// Whoever writes in whatever order, past a lock or with it, what was written
// last counts: also where a merge was killed that had removed some of what it
// had merged.
func TestSpoolKeepsTheOrderOfWrites(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, want := newShed(t), map[int]string{}
		n := rapid.IntRange(0, 3)
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(rt *rapid.T) {
				one, version := n.Draw(rt, "n"), rapid.IntRange(1, 9).Draw(rt, "version")
				s.must(s.index().put(one, version))
				want[one] = versionDigest(one, version)
			},
			"forget": func(rt *rapid.T) {
				one := n.Draw(rt, "n")
				s.index().forget(one)
				delete(want, one)
			},
			"lock or unlock": func(*rapid.T) {
				if s.locked != nil {
					s.unlock()
				} else {
					s.lock()
				}
			},
			"merge, killed": func(rt *rapid.T) {
				contents, paths := s.files()
				if s.locked != nil || len(paths) == 0 {
					rt.Skip()
				}
				s.index().mergeSpool()
				for _, path := range paths[rapid.IntRange(0, len(paths)).Draw(rt, "removed"):] {
					s.must(os.WriteFile(path, contents[path], 0o600))
				}
			},
			"": func(rt *rapid.T) {
				if s.locked != nil {
					return // what it holds is not known
				}
				x := s.index()
				for one := range 4 {
					if got := x.digest(one); got != want[one] {
						rt.Fatalf("row %d is %q, want %q", one, got, want[one])
					}
				}
			},
		})
		if s.locked != nil {
			s.unlock()
		}
	})
}

// All that is asked of an index is answered from what waits as well.
func TestRowsThatWaitAreRead(t *testing.T) {
	s := newShed(t)
	s.must(s.index().put(1, 1))
	s.lock()
	s.must(s.index().put(2, 1))
	s.unlock()
	for _, when := range []string{"waiting", "merged"} {
		x := s.index()
		if latest, err := x.Latest(spoolHost, spoolRepo, "composition/edge"); err != nil || latest != numberKey(2) {
			t.Errorf("%s: Latest = %v, %v", when, latest, err)
		}
		if fresh, err := x.Fresh(spoolHost, spoolRepo, numberKey(2)); err != nil || fresh.Digest != versionDigest(2, 1) {
			t.Errorf("%s: Fresh = %v, %v", when, fresh, err)
		}
		if inputs, err := x.InputsByTag(spoolHost, spoolRepo, numberKey(2).Tag()); err != nil || len(inputs) != 1 || inputs[0].Value != "2" {
			t.Errorf("%s: InputsByTag = %v, %v", when, inputs, err)
		}
		if rows := x.Rows(spoolHost, "registry.example.com/shop/"); len(rows) != 2 {
			t.Errorf("%s: Rows = %+v", when, rows)
		}
		if _, err := x.Prune(Keep{}, time.Now()); err != nil { // it merges
			t.Error(err)
		}
	}
	if _, paths := s.files(); len(paths) > 0 {
		t.Errorf("left: %v", paths)
	}
}

// Whatever happens to a file, the rows of the others count, nothing is wrong,
// and it is gone after the next write.
func TestDamagedSpoolCostsItsRowsOnly(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	tests := map[string]func(path string, data []byte) error{
		"cut":     func(path string, data []byte) error { return os.Truncate(path, int64(len(data)/2)) },
		"empty":   func(path string, _ []byte) error { return os.Truncate(path, 0) },
		"flipped": func(path string, data []byte) error { data[len(data)-3] ^= 4; return os.WriteFile(path, data, 0o600) },
		"longer":  func(path string, data []byte) error { return os.WriteFile(path, append(data, 0), 0o600) },
		"huge":    func(path string, _ []byte) error { return os.Truncate(path, 1<<40) },
		"foreign": func(path string, _ []byte) error { return os.WriteFile(path, []byte("no rows"), 0o600) },
		"renamed": func(path string, _ []byte) error { return os.Rename(path, path+"x") },
		"unnumbered": func(path string, _ []byte) error {
			return os.Rename(path, filepath.Join(filepath.Dir(path), "zz"))
		},
		"a pipe": func(path string, _ []byte) error {
			return inPlaceOf(path, func() error { return syscall.Mkfifo(path, 0o600) })
		},
		"a directory": func(path string, _ []byte) error {
			return inPlaceOf(path, func() error { return os.MkdirAll(filepath.Join(path, "below"), 0o700) })
		},
		"a link": func(path string, data []byte) error {
			return inPlaceOf(path, func() error {
				if err := os.WriteFile(outside, data, 0o600); err != nil {
					return err
				}
				return os.Symlink(outside, path)
			})
		},
		"gone": func(path string, _ []byte) error { return os.Remove(path) },
	}
	for name, damage := range tests {
		t.Run(name, func(t *testing.T) {
			Promptly(t, func() time.Duration {
				s := newShed(t)
				s.lock()
				for n := 1; n <= 3; n++ {
					s.must(s.index().put(n, 1))
				}
				contents, paths := s.files()
				s.must(damage(paths[1], contents[paths[1]]))
				s.unlock()
				began := time.Now()
				for range 2 {
					x := s.index()
					for n, want := range []string{1: versionDigest(1, 1), 2: "", 3: versionDigest(3, 1)} {
						if got := x.digest(n); got != want {
							t.Errorf("row %d is %q, want %q", n, got, want)
						}
					}
					s.must(x.put(4, 1))
				}
				took := time.Since(began)
				if _, paths := s.files(); len(paths) > 0 {
					t.Errorf("left: %v", paths)
				}
				return took
			})
		})
	}
}

func inPlaceOf(path string, what func() error) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return what()
}

// Where rows would wait in a place that others can write in, or in one that is
// full, they are refused, and that is said once.
func TestSpoolRefuses(t *testing.T) {
	tests := map[string]struct {
		arrange func(dir string) error
		says    string
	}{
		"where others can write": {func(dir string) error { return os.Chmod(dir, 0o770) }, "others can write in its directory"},
		"when it is full": {func(dir string) error {
			for n := range maxSpooled {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(n)), nil, 0o600); err != nil {
					return err
				}
			}
			return nil
		}, "wait in"},
		"a file for a directory": {func(dir string) error {
			return inPlaceOf(dir, func() error { return os.WriteFile(dir, nil, 0o600) })
		}, "not a directory"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShed(t)
			dir := s.path + ".spool"
			s.must(os.MkdirAll(dir, 0o700))
			s.must(test.arrange(dir))
			s.lock()
			defer s.unlock()
			var warnings []string
			db := OpenDB(s.path, func(w string) { warnings = append(warnings, w) })
			db.hurried = true
			x := probe{NewIndex(db)}
			if x.put(1, 1) == nil || x.put(2, 1) == nil {
				t.Error("Put says that it kept the row")
			}
			if len(warnings) != 1 || !strings.Contains(warnings[0], s.path) || !strings.Contains(warnings[0], test.says) {
				t.Errorf("warnings: %q", warnings)
			}
		})
	}
}

// Rows that others may have put there are not believed, and what is said without
// them may not be so: that is one warning.
func TestSpoolOfOthersIsNotRead(t *testing.T) {
	s := newShed(t)
	s.must(s.index().put(2, 1))
	s.lock()
	s.must(s.index().put(1, 1))
	s.unlock()
	s.must(os.Chmod(s.path+".spool", 0o777))
	var warnings []string
	x := probe{NewIndex(OpenDB(s.path, func(w string) { warnings = append(warnings, w) }))}
	if x.digest(1) != "" || x.digest(2) != "" || x.put(3, 1) == nil {
		t.Errorf("row 1 is %q, row 2 is %q, and row 3 may have been put", x.digest(1), x.digest(2))
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "others can write") {
		t.Errorf("warnings: %q", warnings)
	}
	s.must(os.Chmod(s.path+".spool", 0o700))
	x = s.index()
	if x.digest(1) == "" || x.digest(2) == "" {
		t.Errorf("once that is mended: row 1 is %q, row 2 is %q", x.digest(1), x.digest(2))
	}
}

// Of the writes of one file the last counts, as in a transaction.
func TestSpooledWritesOfOneRow(t *testing.T) {
	s := newShed(t)
	name := rowName(spoolHost, spoolRepo, "row")
	s.must(os.MkdirAll(s.path+".spool", 0o700))
	beside := OpenDB(s.path, nil).spool()
	for _, value := range [][]byte{nil, []byte("second")} {
		s.must(beside.keep([]write{{publishedBucket, name, []byte("first")}, {publishedBucket, name, value}}))
		waiting, _, err := beside.read()
		s.must(err)
		if got, known := waiting[rowID(publishedBucket, name)]; !known || string(got) != string(value) {
			t.Errorf("read %q, %t, want %q", got, known, value)
		}
	}
}

func FuzzUnpackWrites(f *testing.F) {
	f.Add(packWrites([]write{{publishedBucket, []byte("a"), []byte("b")}, {latestBucket, []byte("c"), nil}}))
	f.Add([]byte{255, 255, 255, 255, 15})
	f.Fuzz(func(t *testing.T, data []byte) {
		writes := unpackWrites(data)
		if again := unpackWrites(packWrites(writes)); fmt.Sprint(again) != fmt.Sprint(writes) {
			t.Errorf("%v is read back as %v", writes, again)
		}
	})
}
